"""What all commands have: help, five options, exit codes, errors as one message."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import isinglearn
from isinglearn.cli import app
from isinglearn.cli.exits import MEANINGS, Exit, outcome
from isinglearn.errors import DataError, MissingPackage, ProblemRefused, SolverError

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, command in group.commands.items():
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


COMMANDS = commands(app)


def command_of(path: tuple[str, ...]) -> click.Command:
    command: click.Command = app
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    return command


# -- help ------------------------------------------------------------------------------------------


def test_there_are_the_commands_that_should_be():
    names = "demo train predict estimate compile solve solvers bench reproduce"
    assert list(app.commands) == names.split()


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_the_common_options(invoke, path):
    options = {name for one in command_of(path).params for name in one.opts}
    assert {"--json", "--seed", "--time-limit", "--quiet", "--debug"} <= options
    shown = invoke(*path, "--help")
    assert shown.exit_code == 0
    assert "Usage:" in shown.output
    assert "--time-limit SECONDS" in shown.output


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_commands_and_exit_codes(invoke, flag):
    shown = invoke(flag)
    assert shown.exit_code == 0
    assert all(name in shown.output for name in app.commands)
    for code, meaning in MEANINGS.items():
        assert re.search(rf"^ +{code.value}  {re.escape(meaning)}$", shown.output, re.MULTILINE)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_documentation_has_every_command(path):
    assert f"isinglearn {' '.join(path)}" in PAGE.read_text()


@pytest.mark.parametrize("code", Exit)
def test_the_documentation_has_every_exit_code(code):
    assert f"| {code.value} | {MEANINGS[code]} |" in PAGE.read_text()


def test_version(invoke):
    shown = invoke("--version")
    assert shown.exit_code == 0
    assert shown.output == f"isinglearn, version {isinglearn.__version__}\n"


# -- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["estimat"], "estimate"),
        (["reprduce"], "reproduce"),
        (["reproduce", "count"], "counts"),
        (["bench", "--instance", "moons1"], "moons10"),
        (["estimate", "--order", "sqare"], "square"),
        (["solvers", "anealer"], "annealer"),
    ],
)
def test_a_misspelt_word_names_the_nearest(invoke, words, near):
    done = invoke(*words)
    assert done.exit_code == 2
    assert f"id you mean '{near}'?" in done.stderr
    assert done.stdout == ""


def test_a_misspelt_option_names_the_nearest(invoke):
    done = invoke("estimate", "--hiden", "3")
    assert done.exit_code == 2
    assert "--hidden" in done.stderr


def test_a_command_like_no_other_is_refused_without_a_guess(invoke):
    done = invoke("xyzzy")
    assert done.exit_code == 2
    assert "No such command 'xyzzy'" in done.stderr
    assert "Did you mean" not in done.stderr


BAD_VALUES = {
    "no units": (["estimate", "-H", "0"], "every width is at least 1"),
    "no widths": (["estimate", "-H", "x"], "for example 16,8"),
    "one layer": (["estimate", "-L", "1"], "--layers"),
    "no samples": (["estimate", "--samples", "0"], "--samples"),
    "no number": (["estimate", "-n", "two"], "'two' is not a valid integer"),
    "too many bits": (["estimate", "-B", "31"], "--input-bits"),
    "demo without samples": (["demo", "--samples", "0"], "--samples"),
    "demo without reads": (["demo", "--reads", "0"], "--reads"),
    "a bad seed": (["demo", "--seed", "-1"], "--seed"),
    "no time": (["demo", "--time-limit", "0"], "number of seconds"),
    "not a time": (["demo", "--time-limit", "nan"], "number of seconds"),
    "a share of one": (["bench", "--instance", "I", "--target", "1"], "--target"),
    "no such folder": (["demo", "-o", "missing/demo.png"], "there is no such folder: 'missing'"),
    "a folder": (["demo", "-o", "."], "is a folder"),
    "no picture": (["demo", "-o", "demo.pnk"], "Did you mean '.png'?"),
    "no picture either": (["estimate", "--plot", "growth"], "does not end in one of .png"),
    "bench on nothing": (["bench"], "--instance"),
    "no such file": (["solve", "missing.qubo"], "there is no such file: 'missing.qubo'"),
    "two ways to ask": (["estimate", "--target", "y"], "--target is for an estimate with a table"),
    "other widths": (["estimate", "-H", "3,2"], "one width"),
    "other depth": (["estimate", "-H", "3,3", "-L", "2"], "2 hidden layers are 3 layers"),
    "for all only": (["reproduce", "--json", "counts"], "give counts its own"),
}


@pytest.mark.parametrize(("words", "says"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_value_is_one_message_and_exit_code_2(invoke, monkeypatch, tmp_path, words, says):
    monkeypatch.chdir(tmp_path)
    done = invoke(*words)
    assert done.exit_code == Exit.INPUT
    assert done.stdout == ""
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_names_the_nearest(invoke, xor):
    done = invoke("train", xor.with_name("xr.csv"), "--target", "answer")
    assert done.exit_code == Exit.INPUT
    assert "there is no such file" in done.stderr
    assert "Did you mean 'xor.csv'?" in done.stderr


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("bad"), Exit.INPUT),
        (MissingPackage("missing"), Exit.INPUT),
        (SolverError("nothing found"), Exit.NO_ANSWER),
        (ProblemRefused("too large"), Exit.NO_ANSWER),
        (PermissionError(13, "Permission denied", "a.png"), Exit.OUTSIDE),
        (OSError("the network is down"), Exit.OUTSIDE),
        (MemoryError(), Exit.OUTSIDE),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (ZeroDivisionError("division by zero"), Exit.FAULT),
        (KeyError(), Exit.FAULT),
    ],
)
def test_every_error_has_its_exit_code(error, code):
    assert outcome(error)[0] is code
    assert outcome(error)[1]


@pytest.fixture
def failing(monkeypatch):
    """Let a command run into an error of any kind."""

    def arrange(error):
        def fail(*arguments):
            raise error

        monkeypatch.setattr("isinglearn.lowering.budget.spin_budget", fail)

    return arrange


def test_a_fault_says_so_and_how_to_see_more(invoke, failing):
    failing(ZeroDivisionError("division by zero"))
    done = invoke("estimate")
    assert done.exit_code == Exit.FAULT
    assert done.stdout == ""
    assert "fault of isinglearn (ZeroDivisionError: division by zero)" in done.stderr
    assert "--debug" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["--debug", "estimate"], ["estimate", "--debug"]])
def test_debug_shows_the_traceback_and_keeps_the_exit_code(invoke, failing, words):
    failing(ZeroDivisionError("division by zero"))
    done = invoke(*words)
    assert done.exit_code == Exit.FAULT
    assert "Traceback" in done.stderr
    assert "spin_budget" in done.stderr


def test_what_the_system_refuses_is_told_with_the_file(invoke, failing):
    failing(PermissionError(13, "Permission denied", "growth.png"))
    done = invoke("estimate")
    assert (done.exit_code, done.stderr) == (1, "Error: Permission denied: growth.png\n")


@pytest.mark.parametrize(("flags", "traceback"), [([], False), (["--debug"], True)])
def test_a_shell_sees_a_message_and_a_traceback_only_if_asked(tmp_path, flags, traceback):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    words = ["train", "a.csv", "--target", "c", *flags]
    done = subprocess.run(
        [sys.executable, "-m", "isinglearn", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: a.csv, column c: there is no such column." in done.stderr
    assert ("Traceback" in done.stderr) is traceback


# -- quiet and JSON --------------------------------------------------------------------------------


def test_quiet_prints_nothing_and_json_all_the_same(invoke, answer):
    assert invoke("estimate", "--quiet").output == ""
    assert answer("estimate", "--quiet")["paper_qcbo"] == 3839
    done = invoke("estimate", "-H", "x", "--quiet")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr


def test_options_without_effect_are_accepted_and_said_to_be(invoke):
    words = ("estimate", "--seed", 3, "--time-limit", 5, "--json")
    assert invoke(*words).output == invoke("estimate", "--json").output
    assert invoke("estimate", "--help").output.count("No effect on this command.") == 2


def test_help_is_quick():
    # Heavy packages would take seconds; the time itself is a matter of the machine.
    code = (
        "import sys; from isinglearn.cli import app; app(['--help'], standalone_mode=False);"
        "print(sorted({'numpy', 'rich', 'scipy', 'sklearn', 'numba', 'dimod'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_lists_that_the_commands_keep_for_speed_are_those_of_the_library():
    from isinglearn.cli import compile, networks, train
    from isinglearn.estimators.networks import ACTIVATIONS
    from isinglearn.training.compiling import LOSSES as COMPILED
    from isinglearn.training.losses import LOSSES

    assert tuple(ACTIVATIONS) == networks.ACTIVATIONS
    assert set(train.LOSSES) == set(LOSSES)
    assert set(compile.LOSSES) == set(COMPILED)
