"""Same input, same bytes: whatever the hash seed, and the same as last time."""

import hashlib
import os
import subprocess
import sys

import pytest

import isinglearn as il
from isinglearn.paper.instances import instances

# What the compiler gives today. A change here must be meant: it changes every user's QUBO.
GOLDEN = {
    ("I", "compact"): "056e52ec0d1bad65",
    ("II", "compact"): "7be38f0957f78ce5",
    ("III", "compact"): "c0bfbe57af6be166",
    ("MNIST", "compact"): "1e55c9c4e0197247",
    ("I", "paper"): "5c8ab0c451ac199a",
    ("II", "paper"): "96bf823859c2b81e",
    ("III", "paper"): "a2ad5f064b3708c0",
    ("MNIST", "paper"): "f292d65b574e7419",
}


def fingerprint(problem):
    """Hash of everything a machine and a decoder see."""
    digest = hashlib.sha256()
    polynomial = problem.qubo.polynomial
    digest.update(polynomial.monomials.astype("<i4").tobytes())
    digest.update(polynomial.coefficients.astype("<i8").tobytes())
    digest.update("\n".join(problem.qubo.variables).encode())
    return digest.hexdigest()[:16]


CASES = [(i, f) for i in instances() for f in ("compact", "paper") if (i.name, f) in GOLDEN]


@pytest.mark.parametrize(("instance", "formulation"), CASES, ids=lambda v: getattr(v, "name", v))
def test_golden_hash(instance, formulation):
    problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
    assert fingerprint(problem) == GOLDEN[instance.name, formulation]


def test_hash_seed_does_not_matter():
    script = (
        "import hashlib, isinglearn as il\n"
        "from isinglearn.paper.instances import two_moons\n"
        "moons = two_moons()\n"
        "qubo = il.compile(moons.network, moons.X, moons.y).qubo\n"
        "data = qubo.polynomial.monomials.tobytes() + qubo.polynomial.coefficients.tobytes()\n"
        "print(hashlib.sha256(data + chr(10).join(qubo.variables).encode()).hexdigest())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(printed) == 1
