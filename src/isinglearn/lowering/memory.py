"""How much memory a compile will need, known before it starts."""

from __future__ import annotations

import os

import numpy as np

from isinglearn.data import Dataset
from isinglearn.errors import MemoryRefused
from isinglearn.lowering.options import Options
from isinglearn.nn.layers.affine import _Affine
from isinglearn.nn.sequential import Sequential
from isinglearn.problem.encodings import bit_count, layout

# Bytes per expanded term at the peak (the term, its sort keys, copies while merging), as measured by
# benchmarks/compile.py; the compact form has fewer terms and more around them.
BYTES_PER_TERM = {"paper": 80, "compact": 400}


def estimate_terms(network: Sequential, data: Dataset, options: Options) -> int:
    """Turn a network and data into the approximate number of terms of all squared rows."""
    samples = len(data) if options.paper else len(np.unique(data.X, axis=0))
    total = 0
    from_data = True
    for _, module in network:
        if not isinstance(module, _Affine):
            continue
        assert module.weight is not None
        weight, inputs, units = module.weight, module.fan_in, len(module.bias_entries())
        size = layout(weight.encoding, weight.lo, weight.hi)[1].size
        # A weight bit alone, or with the activation it meets, plus that activation.
        terms = inputs * size * (1 if from_data else 2) + (0 if from_data else inputs)
        reach = max(1, inputs * 2 ** (network.input_bits or 0) if from_data else inputs)
        terms += bit_count(reach) * (4 if options.paper else 2) + 2
        rows = 3 if options.paper else 1
        total += samples * units * rows * terms * (terms + 1) // 2
        from_data = False
    return int(total)


def available_memory() -> int | None:
    """Physical memory in bytes, or ``None`` where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(network: Sequential, data: Dataset, options: Options) -> None:
    """Raise if the compile would need more memory than the machine has."""
    need = estimate_terms(network, data, options) * BYTES_PER_TERM[options.formulation]
    have = available_memory()
    if have is not None and need > have:
        raise MemoryRefused(
            "compiling this would need more memory than the machine has",
            where="compile",
            rule=f"at most {have / 2**30:.1f} GiB",
            received=f"about {need / 2**30:.1f} GiB for {len(data)} samples of {network}",
            remedy="use fewer samples, a narrower network, or formulation='compact'",
        )
