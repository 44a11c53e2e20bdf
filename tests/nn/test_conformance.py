"""For every registered module the feasible set of its constraints is the graph of ``forward``."""

import pytest

from isinglearn import nn
from isinglearn.conformance import enumerate_example, enumerate_loss

CASES = [
    pytest.param(example, paper, id=f"{name}-{number}-{'paper' if paper else 'compact'}")
    for name, module in nn.MODULES.items()
    for number, example in enumerate(module.examples())
    for paper in (False, True)
]


@pytest.mark.parametrize(("example", "paper"), CASES)
def test_feasible_set_is_the_graph_of_forward(example, paper):
    conformance = enumerate_example(example, paper=paper)
    assert conformance.computed
    assert conformance.allowed == conformance.computed
    assert conformance.defined == conformance.computed
    assert conformance.holds


@pytest.mark.parametrize("paper", [False, True], ids=["compact", "paper"])
@pytest.mark.parametrize("loss", nn.LOSSES.values(), ids=nn.LOSSES)
def test_least_allowed_value_of_a_loss_is_its_definition(loss, paper):
    conformance = enumerate_loss(loss(), paper=paper)
    assert conformance.allowed == conformance.computed
    assert conformance.defined == conformance.computed


def test_every_module_has_examples():
    assert set(nn.MODULES) >= {"Linear", "Sign"}
    assert all(module.examples() for module in nn.MODULES.values())
