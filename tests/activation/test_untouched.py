"""What a pass through a model may change is afterwards what it was."""

from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

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


class Built(nn.Module):
    """Makes a part in its first call; the flag is in another module than the part."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.fc, self.act, self.how, self.ready = nn.Linear(4, 4), nn.ReLU(), how, False
        self.parts, self.scales = nn.ModuleList(), nn.ParameterDict()

    def forward(self, x: Tensor) -> Tensor:
        if not self.ready:
            self.ready = True
            if self.how == "layer":
                self.parts.append(nn.Linear(4, 4))
            elif self.how == "normalized":
                weight_norm(self.fc)
            else:
                self.scales["one"] = nn.Parameter(torch.ones(4))
        x = self.act(self.fc(x))
        for part in self.parts:
            x = part(x)
        for scale in self.scales.values():
            x = x * scale
        return x


@pytest.mark.parametrize("how", ["layer", "normalized", "scale"])
def test_a_part_that_a_model_makes_in_a_child_is_made_once(how: str) -> None:
    model, x = Built(how), torch.randn(5, 4)
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert [site.path for site in report.replaced] == ["act"]
    assert model.ready
    state = {name: id(value) for name, value in model.named_parameters()}
    model(x)
    assert {name: id(value) for name, value in model.named_parameters()} == state
    assert len(model.parts) <= 1


class Keeping(nn.Module):
    """Its calls leave something, each kind in another place."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.act = nn.Linear(4, 4), nn.ReLU()
        self.register_buffer("table", None)
        self.register_buffer("mean", torch.zeros(4))
        self.steps, self.deep = torch.zeros(()), {"log": [(torch.zeros(2),)]}
        self.counts = Counter({"calls": 0, "left": -2})
        self.hooked = False

    def forward(self, x: Tensor) -> Tensor:
        if self.table is None:
            self.table = torch.ones(len(x), 1)
        if not self.hooked:
            self.fc.register_forward_hook(lambda *_: None)
            self.hooked = True
        self.mean = self.mean + 1
        self.steps += 1
        self.deep["log"][0][0].add_(1)
        self.deep["log"].append(())
        self.counts["calls"] += 1
        y: Tensor = self.act(self.fc(x)) + self.table
        return y


def test_whatever_calls_leave_is_as_if_never_called() -> None:
    model, x = Keeping(), torch.randn(5, 4)
    mean, steps, log = model.mean, model.steps, model.deep["log"]
    pg.replace_activations(model, FUNCTION, example=x)
    assert (model.table, model.hooked, len(model.fc._forward_hooks)) == (None, False, 0)
    assert model.mean is mean
    assert model.steps is steps
    assert model.deep["log"] is log
    assert (mean.sum(), steps, len(log), log[0][0].sum()) == (0, 0, 1, 0)
    assert model.counts == {"calls": 0, "left": -2}
    assert "table" not in model.state_dict()
    assert model(x).shape == x.shape
    assert (model.steps, model.hooked) == (1, True)


@pytest.mark.parametrize("name", ["mean", "steps", "log"])
def test_a_forward_that_sets_something_is_left_alone_and_whole(name: str) -> None:
    class Setting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.log, self.steps = nn.Linear(4, 4), {"calls": []}, torch.zeros(())
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x: Tensor) -> Tensor:
            y = self.fc(x)
            if name == "mean":
                self.mean = 0.9 * self.mean + 0.1 * y.mean(0).detach()
            elif name == "steps":
                self.steps.add_(1)
            else:
                self.log["calls"].append(1)
            return F.relu(y)

    model, x = Setting(), torch.randn(5, 4)
    with pytest.raises(pg.PangaeaError, match=f"its forward sets {name}"):
        pg.replace_activations(model, FUNCTION, example=x)
    assert (model.mean.sum(), model.steps, model.log) == (0, 0, {"calls": []})
    model(x)


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
