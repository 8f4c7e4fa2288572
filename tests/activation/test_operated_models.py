"""What people do with a model still works after its activations were replaced."""

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

import pangaea as pg
from tests.activation import models

FUNCTION = "alpha*x - beta*log(sigmoid(gamma*x))"
SHAPES: dict[type[nn.Module], tuple[int, ...]] = {
    models.ResNet: (4, 3, 8, 8),
    models.MobileNet: (4, 3, 8, 8),
    models.VGG: (4, 3, 8, 8),
    models.UNet: (4, 3, 8, 8),
    models.Net1d: (4, 2, 16),
    models.Encoder: (4, 5, 8),
    models.MLP: (4, 4),
    models.SwiGLU: (4, 5, 8),
}
Case = tuple[nn.Module, Tensor]


@pytest.fixture(params=SHAPES, ids=lambda kind: kind.__name__)
def operated(request: pytest.FixtureRequest) -> Case:
    kind: Callable[[], nn.Module] = request.param
    model, x = kind(), torch.randn(SHAPES[request.param])
    pg.replace_activations(model, FUNCTION, example=x)
    return model, x


def trained(model: nn.Module, x: Tensor, steps: int = 30) -> list[float]:
    """The losses of a few steps towards fixed targets, dropout off."""
    target = torch.zeros_like(model.eval()(x)) + 0.3
    optimizer = torch.optim.Adam(pg.parameter_groups(model, 0.0), lr=1e-2)
    losses = []
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_training_reduces_the_loss_and_learns_the_parameters(operated: Case) -> None:
    model, x = operated
    losses = trained(model, x)
    assert losses[-1] < 0.5 * losses[0]
    activations = [module for module in model.modules() if isinstance(module, pg.Activation)]
    assert all(not torch.equal(a.alpha, torch.ones_like(a.alpha)) for a in activations)


def test_compile_keeps_values_and_gradients(operated: Case) -> None:
    model, x = operated
    model.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it compiles
        y = torch.compile(model, fullgraph=True, backend="aot_eager")(x)
        compiled = torch.autograd.grad(y.sum(), [*model.parameters()])
    torch.testing.assert_close(y, model(x))
    plain = torch.autograd.grad(model(x).sum(), [*model.parameters()])
    torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-4)


# A compiler's and two processes' start take seconds: one model each, the others by `test-all`.
@pytest.mark.parametrize("kind", [models.MLP, pytest.param(models.ResNet, marks=pytest.mark.slow)])
def test_compile_to_machine_code_keeps_values(kind: type[nn.Module]) -> None:
    model, x = kind().eval(), torch.randn(SHAPES[kind])
    pg.replace_activations(model, FUNCTION, example=x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(torch.compile(model)(x), model(x))


def test_export_keeps_values(operated: Case) -> None:
    model, x = operated
    exported = torch.export.export(model.eval(), (x,))
    torch.testing.assert_close(exported.module()(x), model(x))


def test_autocast_works(operated: Case) -> None:
    model, x = operated
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(x)
    y.float().sum().backward()
    assert y.isfinite().all()
    activations = [module for module in model.modules() if isinstance(module, pg.Activation)]
    assert all(a.alpha.grad is not None for a in activations)
    assert all(a.alpha.dtype == torch.float32 for a in activations)


def test_copies_are_models_of_their_own(operated: Case) -> None:
    model, x = operated
    model.eval()
    expected = model(x)
    twin = copy.deepcopy(model)
    assert type(twin) is type(model)
    trained(model, x, 2)
    assert torch.equal(twin(x), expected)
    assert not torch.equal(model(x), expected)


def test_pickled_and_saved_whole_a_model_comes_back(operated: Case) -> None:
    model, x = operated
    model.eval()
    assert torch.equal(pickle.loads(pickle.dumps(model))(x), model(x))
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), model(x))


def test_averages_of_a_model_follow_it(operated: Case) -> None:
    model, x = operated
    averaged = AveragedModel(model)
    trained(model, x, 1)
    averaged.update_parameters(model)
    averaged.update_parameters(model)
    torch.testing.assert_close(averaged.eval()(x), model.eval()(x))


def test_a_state_dict_goes_into_another_model_operated_alike(operated: Case) -> None:
    model, x = operated
    trained(model, x, 2)
    other = next(kind for kind in SHAPES if isinstance(model, kind))()
    pg.replace_activations(other, FUNCTION, example=x)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.eval()(x), model.eval()(x))


def _train_in_parallel(rank: int, folder: str, kind: type[nn.Module]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    torch.manual_seed(0)
    model, x = kind(), torch.randn(SHAPES[kind])
    pg.replace_activations(model, FUNCTION, example=x)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        parallel(x[rank::2]).square().mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.parametrize("kind", [models.ResNet, pytest.param(models.MLP, marks=pytest.mark.slow)])
def test_two_processes_train_one_model(kind: type[nn.Module], tmp_path: Path) -> None:
    mp.spawn(_train_in_parallel, (str(tmp_path), kind), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    alphas = [name for name in first if name.endswith("alpha")]
    assert len(alphas) > 1
    for name in alphas:
        assert torch.equal(first[name], second[name])
        assert not torch.equal(first[name], torch.ones_like(first[name]))
