"""``isinglearn solve``, and the files it reads."""

import json

import dimod
import numpy as np
import pytest
from exact_minimum import minimum

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, OptionError
from isinglearn.problem.exports.reading import read_bqm
from isinglearn.solvers.base import SOLVERS, Form

HERE = [
    name
    for name, solver in SOLVERS.items()
    if Form.QUBO in solver.accepts and solver.available() and not solver.traits.remote
]
ENDINGS = [".qubo", ".coo", ".npz", ".json"]


def a_problem() -> il.Problem:
    net = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1))
    return il.compile(net, [[1, 0], [0, 1], [-1, 1]], [1, -1, 1])


@pytest.fixture(scope="session")
def problem(tmp_path_factory):
    path = tmp_path_factory.mktemp("problems") / "problem.qubo"
    a_problem().qubo.write(path)
    return path


def written(path, linear, quadratic, vartype="BINARY", offset=0.0):
    model = dimod.BinaryQuadraticModel(linear, quadratic, offset, vartype)
    path.write_text(json.dumps(model.to_serializable()))
    return model


# -- solving ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_compiled_is_solved_to_its_minimum(answer, xor, tmp_path, ending):
    problem, values = tmp_path / f"problem{ending}", tmp_path / "answer.json"
    words = ("--target", "answer", "--hidden", 2, "-B", 0, "-o", problem)
    spins = answer("compile", xor, *words)["spins"]
    model = read_bqm(problem)
    lowest = minimum(model)
    record = answer("solve", problem, "-o", values)
    assert (record["energy"], record["bound"], record["spins"]) == (lowest, lowest, spins)
    assert (record["solver"], record["status"], record["gap"]) == ("treewidth", "OPTIMAL", 0)
    bits = json.loads(values.read_text())
    assert model.energy({name: bits[str(name)] for name in model.variables}) == lowest


@pytest.mark.parametrize("solver", HERE)
def test_every_solver_that_takes_a_qubo_works(answer, problem, solver):
    record = answer("solve", problem, "--solver", solver)
    assert record["solver"] == solver
    assert record["energy"] >= minimum(read_bqm(problem))
    proved = SOLVERS[solver].traits.exact
    assert record["status"] == ("OPTIMAL" if proved else "FEASIBLE")
    assert (record["bound"] is not None) is proved
    assert record["reads"] >= record["reads_with_that_energy"] >= 1


def test_where_a_proof_is_out_of_reach_it_is_annealed(answer, tmp_path):
    size = 60
    rng = np.random.default_rng(1)
    left, right = np.triu_indices(size, 1)
    pairs = zip(left.tolist(), right.tolist(), rng.choice([-1, 1], len(left)), strict=True)
    written(tmp_path / "sk.json", {}, {(i, j): float(v) for i, j, v in pairs}, "SPIN")
    record = answer("solve", tmp_path / "sk.json", "--time-limit", 20)
    assert (record["solver"], record["status"], record["bound"]) == ("annealer", "FEASIBLE", None)
    assert "no proof" in record["reason"]


def test_options_reach_the_solver(answer, problem):
    words = ("--solver", "annealer", "--option", "num_reads=7", "--option", "num-sweeps=5")
    assert answer("solve", problem, *words)["reads"] == 7
    one, same, other = (
        answer("solve", problem, "--solver", "tabu", "--option", "num_reads=2", "--seed", seed)
        for seed in (1, 1, 2)
    )
    assert one["energy"] == same["energy"]
    assert one.keys() == other.keys()


def test_spins_and_offsets_are_those_of_the_file(answer, tmp_path):
    path, values = tmp_path / "ising.json", tmp_path / "answer.json"
    model = written(path, {"a": 0.5, "b": 0.25}, {("a", "b"): -1.5}, "SPIN", 10.125)
    record = answer("solve", path, "-o", values)
    assert (record["energy"], record["status"]) == (7.875, "OPTIMAL")
    sample = json.loads(values.read_text())
    assert sample == {"a": -1, "b": -1}
    assert model.energy(sample) == record["energy"]


def test_real_coefficients_are_solved_but_not_said_to_be_proved(answer, tmp_path):
    path = tmp_path / "real.json"
    model = written(path, {0: 0.1, 1: -0.7, 2: 1 / 3}, {(0, 1): 0.3, (1, 2): -0.4}, offset=0.2)
    record = answer("solve", path, "--solver", "treewidth")
    lowest = min(model.energies((np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T, [0, 1, 2])))
    assert record["energy"] == pytest.approx(lowest)
    assert record["status"] == "FEASIBLE"
    assert "rounded" in record["note"]
    assert 0 <= record["gap"] < 1e-5
    assert record["bound"] <= lowest


def test_lp_files_are_solved_with_a_proof(answer, xor, tmp_path):
    path = tmp_path / "problem.lp"
    scale = answer("compile", xor, "--target", "answer", "--hidden", 1, "-B", 0, "-o", path)[
        "scale"
    ]
    record = answer("solve", path, "-o", tmp_path / "answer.json")
    assert (record["solver"], record["status"], record["gap"]) == ("cpsat", "OPTIMAL", 0)
    # One unit cannot learn exclusive or.
    assert record["energy"] / scale > 0
    values = json.loads((tmp_path / "answer.json").read_text())
    assert len(values) == record["variables"]
    assert dimod.lp.load(str(path)).check_feasible(values)


def test_a_problem_without_solutions_has_exit_code_3(invoke, tmp_path):
    path = tmp_path / "none.lp"
    path.write_text("Minimize\n obj: x\nSubject To\n c: x >= 2\nBinary\n x\nEnd\n")
    done = invoke("solve", path)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "no solution, proved" in done.stderr


def test_a_refusal_has_exit_code_3(invoke, tmp_path):
    size = 50
    written(tmp_path / "k.json", {}, {(i, j): 1.0 for i in range(size) for j in range(i)})
    words = ("--solver", "treewidth", "--option", "max_bytes=1000")
    done = invoke("solve", tmp_path / "k.json", *words)
    assert done.exit_code == 3
    assert "too large or too entangled" in done.stderr


def test_ctrl_c_keeps_the_best_so_far(terminal, problem, tmp_path):
    words = ("--option", "num_reads=1000", "--option", "num_sweeps=1000000", "-o", "answer.json")
    solving = terminal("solve", problem, "--solver", "annealer", *words)
    solving.wait_for("energy")
    solving.interrupt()
    code, output = solving.end()
    assert code == 0
    assert "Interrupted: this is the best so far." in solving.screen
    assert "FEASIBLE" in output
    assert len(json.loads((tmp_path / "answer.json").read_text())) > 0


MISTAKES = {
    "no such solver": (["--solver", "anealer"], "did you mean 'annealer'"),
    "takes no QUBO": (["--solver", "cpsat"], "cpsat, which takes a constrained problem"),
    "takes a network": (["--solver", "brute"], "brute, which takes a network with its data"),
    "no such option": (
        ["--solver", "annealer", "--option", "num_read=3"],
        "did you mean 'num_reads'",
    ),
    "no value": (["--solver", "annealer", "--option", "num_reads"], "no name=value"),
    "out of range": (["--solver", "annealer", "--option", "num_reads=0"], "num_reads"),
    "option of nobody": (["--option", "num_reads=3"], "name it: --solver"),
}


@pytest.mark.parametrize(("words", "says"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told(invoke, problem, words, says):
    done = invoke("solve", problem, *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_other_endings_are_refused(invoke, xor):
    done = invoke("solve", xor)
    assert done.exit_code == 2
    assert "does not end in one of .qubo" in done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p qubo 0 0 0 0\n", "no spins"),
        ("p qubo 0 1 1 0\n0 0 nan\n", "finite coefficients. Received: nan of 0."),
        ("p qubo 0 2 1 1\n0 0 1\n0 1 inf\n", "inf of the pair 1, 0."),
        ("c offset nan\np qubo 0 1 1 0\n0 0 1\n", "nan of the offset."),
        ("p qubo 0 1 1 0\n0 0 1e300\n", "64 bits"),
        ("nothing at all", "cannot be read"),
    ],
)
def test_what_is_no_qubo_is_refused(invoke, tmp_path, text, says):
    (tmp_path / "p.qubo").write_text(text)
    done = invoke("solve", tmp_path / "p.qubo")
    assert done.exit_code == 2
    assert says in done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing at all", "no problem"),
        ("Minimize\n obj: x +", "cannot be read"),
        ("Minimize\n obj: 0.3 x\nSubject To\n c: x >= 1\nBinary\n x\nEnd\n", "not whole"),
    ],
)
def test_what_is_no_lp_file_is_refused(invoke, tmp_path, text, says):
    (tmp_path / "p.lp").write_text(text)
    done = invoke("solve", tmp_path / "p.lp")
    assert done.exit_code == 2
    assert says in done.stderr


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".qubo", ".coo", ".npz"])
def test_files_are_read_back_with_the_same_energies(tmp_path, ending):
    qubo = a_problem().qubo
    qubo.write(tmp_path / f"p{ending}")
    model = read_bqm(tmp_path / f"p{ending}")
    bits = np.random.default_rng(0).integers(0, 2, (20, qubo.num_variables))
    energies = model.energies((bits, list(model.variables)))
    assert (energies == qubo.energy(bits)).all()


def test_files_of_others_are_read(tmp_path):
    path = tmp_path / "other.qubo"
    path.write_text("c made by hand\np qubo 0 3 2 1\n0 0 -1\n2 2 3\n0 2 2\n")
    model = read_bqm(path)
    assert model.num_variables == 3
    assert model.energy({0: 1, 1: 0, 2: 1}) == 4
    assert isinstance(model, dimod.BinaryQuadraticModel)


@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_refused(tmp_path, ending):
    path = tmp_path / f"bad{ending}"
    path.write_text("no such thing 1 2")
    with pytest.raises(DataError, match="cannot be read"):
        read_bqm(path)


def test_names_that_are_the_same_as_text_are_refused(invoke, tmp_path):
    written(tmp_path / "twins.json", {4: 1, "4": -1}, {})
    done = invoke("solve", tmp_path / "twins.json", "-o", tmp_path / "answer.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Received: 4 and '4'." in done.stderr
    assert not (tmp_path / "answer.json").exists()


def test_unknown_endings_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"did you mean '\.qubo'"):
        read_bqm(tmp_path / "problem.quboo")


def test_rounded_coefficients_are_never_called_a_proof(answer, tmp_path):
    # All of them are rounded downwards, so that nothing lies below the rounded energies.
    steps = 1 << 20
    values = [-(1.0 - 0.3 / steps), -(0.5 - 0.3 / steps), 1.0]
    path = tmp_path / "real.qubo"
    entries = [f"0 0 {values[0]!r}", f"1 1 {values[1]!r}", f"0 1 {values[2]!r}"]
    path.write_text("\n".join(["p qubo 0 2 2 1", *entries, ""]))
    found = answer("solve", path, "--solver", "treewidth")
    assert found["status"] == "FEASIBLE"
    assert found["bound"] <= found["energy"]
    assert "rounded" in found["note"]
