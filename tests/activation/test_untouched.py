"""What a pass through a model may change is afterwards what it was."""

import pytest
import torch
from torch import Tensor, nn

import pangaea as pg

FUNCTION = "alpha*x - beta*log(sigmoid(gamma*x))"


class Cached(nn.Module):
    """Its first call, and each longer one, leaves something for those after it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.act = nn.Linear(4, 4), nn.ReLU()
        self.ready, self.longest = False, 0
        self.masks: list[Tensor] = []
        self.cache: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        if not self.ready:
            self.ready = True
            self.masks.append(torch.ones(4))
            self.table = torch.ones(4)
        if len(x) > self.longest:
            self.longest, self.cache["places"] = len(x), torch.arange(4.0)
        y: Tensor = self.act(self.fc(x)) + self.masks[0] + self.cache["places"] + self.table
        return y


def test_a_model_that_keeps_something_from_its_first_call_is_as_if_never_called() -> None:
    model, x = Cached(), torch.randn(5, 4)
    pg.replace_activations(model, FUNCTION, example=x)
    assert (model.ready, model.longest, model.masks, model.cache) == (False, 0, [], {})
    assert not hasattr(model, "table")
    assert model(x).shape == x.shape
    assert model.ready


class Growing(nn.Module):
    """Makes a part of itself in its first call."""

    def __init__(self) -> None:
        super().__init__()
        self.act, self.made = nn.ReLU(), 0

    def forward(self, x: Tensor) -> Tensor:
        if not self.made:
            self.fc, self.made = nn.Sequential(nn.Linear(x.shape[1], 3), nn.ReLU()), 1
        y: Tensor = self.act(self.fc(x))
        return y


def test_a_part_that_a_model_makes_in_its_first_call_stays_and_is_operated_on() -> None:
    model, x = Growing(), torch.randn(5, 4)
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert [site.path for site in report.replaced] == ["act", "fc.1"]
    part = model.fc
    model(x)
    assert model.fc is part


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("kind", ["script", "trace"])
def test_parts_in_torchscript_stay_what_they_are(kind: str) -> None:
    part, x = nn.BatchNorm1d(4), torch.randn(5, 4)
    scripted = torch.jit.script(part) if kind == "script" else torch.jit.trace(part.eval(), (x,))
    model = nn.Sequential(scripted, nn.ReLU(), nn.Linear(4, 2))
    before = model.state_dict()["0.running_mean"].clone()
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert [site.path for site in report.replaced] == ["1"]
    assert model[0] is scripted
    assert torch.equal(model.state_dict()["0.running_mean"], before)
    model(x)
