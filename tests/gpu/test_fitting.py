"""Tasks from a model and data on a GPU: graphs where the network can be recorded."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import pangaea as pg
from pangaea.tasks.own import OwnTask
from pangaea.training.graphed import graphed
from pangaea.training.result import TrainingResult

pytestmark = pytest.mark.gpu
DEVICE = torch.device("cuda")


def network(activation: Any) -> nn.Module:
    return nn.Sequential(
        *(nn.Linear(8, 64), nn.BatchNorm1d(64), activation(), nn.Dropout(0.1)),
        *(nn.Linear(64, 64), activation(), nn.Linear(64, 2)),
    )


class Looking(nn.Module):
    """Looks at its values, which no graph allows."""

    def __init__(self, activation: Any) -> None:
        super().__init__()
        self.layers = network(activation)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x) if x.mean().item() < 1e9 else x  # type: ignore[no-any-return]


class Refusing(nn.Module):
    """Fails while it is recorded, and only then."""

    def __init__(self, activation: Any) -> None:
        super().__init__()
        self.layers = network(activation)

    def forward(self, x: Tensor) -> Tensor:
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("not here")
        return self.layers(x)  # type: ignore[no-any-return]


def task(build: Any) -> OwnTask:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(2000, 8, generator=draw)
    y = (x[:, 0] * x[:, 1] > 0).long()
    return pg.fit_task(
        "signs",
        model=build,
        train=(x[:1500], y[:1500]),
        validation=(x[1500:], y[1500:]),
        loss=nn.functional.cross_entropy,
        metric=lambda outputs, y: 100 * (outputs.argmax(1) == y).double().mean(),
        goal=pg.maximize("accuracy", unit="%"),
        budgets={"search": 10, "full": 20},
        rate=1e-2,
        graphs=True,
    )


def trained(build: Any, function: str = "alpha*swish(beta*x)", **how: Any) -> TrainingResult:
    return pg.train(task(build), function, recipe="search", **how)


@pytest.mark.parametrize("build", [network, Looking, Refusing])
@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_it_learns_with_graphs_and_without(build: Any, precision: str) -> None:
    result = trained(build, precision=precision)
    assert result.failure is None
    assert result.score is not None
    assert result.score > 80
    assert "cpu" not in result.device


def test_a_network_is_recorded_without_a_trace_and_one_that_looks_is_left_alone() -> None:
    torch.manual_seed(0)
    for build, recorded in ((network, True), (Looking, False), (Refusing, False), (network, True)):
        model = build(lambda: pg.Activation("alpha*swish(x)", shape=64)).to(DEVICE)
        inputs = torch.randn(128, 8, device=DEVICE)
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        noise = torch.cuda.get_rng_state()
        assert graphed(model, inputs) is recorded
        after = model.state_dict()
        assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
        assert torch.equal(torch.cuda.get_rng_state(), noise)
        assert all(p.grad is None for p in model.parameters())


def test_a_graph_gives_the_losses_that_single_kernels_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(activation: Any) -> nn.Module:
        return nn.Sequential(nn.Linear(8, 64), activation(), nn.Linear(64, 2))

    with_graph = trained(plain, precision="fp32")
    monkeypatch.setattr("pangaea.tasks.fitting.graphed", lambda model, inputs: False)
    without = trained(plain, precision="fp32")
    assert with_graph.loss == pytest.approx(without.loss, rel=1e-3)
