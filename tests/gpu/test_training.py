"""Training on CUDA: the captured step is the plain step, and everything around it holds.

python -m pytest tests/gpu -m gpu
"""

from pathlib import Path

import pytest
import torch

import pangaea as pg
from pangaea.tasks.classification import Classification
from pangaea.training import train as training
from pangaea.training.run import Training
from tests.random_images import small

pytestmark = pytest.mark.gpu
A = "log(sigmoid(alpha*x)) * beta*asinh(x)"
CUDA = torch.device("cuda", 0)


def make(
    task: Classification, function: str, dtype: torch.dtype, compiled: bool = False
) -> Training:
    recipe = task.recipes["full"].compressed(3)
    return Training(task, function, recipe, 0, device=CUDA, dtype=dtype, compiled=compiled)


@pytest.mark.parametrize("function", ["relu", A])
@pytest.mark.parametrize("network", ["resnet-v1-20", "resnet-v2-11"])
def test_captured_steps_are_plain_steps(network: str, function: str) -> None:
    task = small(f"{network}/cifar10")
    captured, plain = (make(task, function, torch.float32) for _ in range(2))
    captured.advance()
    plain._capture = lambda: None  # type: ignore[method-assign]
    plain.advance()
    for _ in range(3):
        captured.advance()
        plain.advance()
    torch.cuda.synchronize()
    assert captured._graph is not None
    assert plain._graph is None
    torch.testing.assert_close(captured.loss, plain.loss, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(captured.taken, plain.taken)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_it_learns_in_both_precisions(dtype: torch.dtype) -> None:
    run = make(small("resnet-v1-20/cifar10"), "relu", dtype)
    while not run.done:
        run.advance()
    assert run.result.failure is None
    assert run.result.training[-1] > 20


def test_dropout_is_new_in_every_replay() -> None:
    run = make(small("wrn-10-1/cifar10"), "relu", torch.bfloat16)
    run.advance()
    run.rates.zero_()
    losses = []
    for _ in range(4):
        run.place.zero_()
        before = run.loss.item()
        run.advance()
        torch.cuda.synchronize()
        losses.append(run.loss.item() - before)
    assert len({round(loss, 5) for loss in losses}) == 4


def test_runs_side_by_side_do_not_disturb_each_other() -> None:
    task = small("resnet-v1-20/cifar10")
    together = pg.train_seeds(task, A, "full", [0, 1, 2], epochs=3)
    alone = [pg.train(task, A, "full", seed, epochs=3) for seed in (0, 1, 2)]
    for a, b in zip(together, alone, strict=True):
        assert a.loss[0] == pytest.approx(b.loss[0], rel=0.05)
    assert len({result.loss[0] for result in together}) == 3


def test_divergence_is_noticed_within_an_epoch() -> None:
    result = pg.train(small("resnet-v1-20/cifar10", 6400), "exp(exp(x))", "full", epochs=2)
    assert result.failure == "diverged"
    assert result.score is None


@pytest.mark.parametrize("after", [0.4, 0.6, 0.66])
def test_a_run_goes_on_from_its_checkpoint(
    after: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small("resnet-v1-20/cifar10")
    whole = pg.train(task, A, "full", 0, epochs=3)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    steps = 0

    def stop(part: float) -> None:
        nonlocal steps
        steps += 1
        if part > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pg.train(task, A, "full", 0, epochs=3, checkpoints=tmp_path, progress=stop)
    resumed = pg.train(task, A, "full", 0, epochs=3, checkpoints=tmp_path)
    assert len(resumed.loss) == 3
    assert resumed.loss == pytest.approx(whole.loss, rel=0.05)


def test_too_little_memory_is_a_result() -> None:
    task = small("wrn-10-4/cifar10")
    torch.cuda.set_per_process_memory_fraction(0.002)
    try:
        result = pg.train(task, A, "full", epochs=1)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert result.failure == "out of memory"
    assert "Tried to allocate" in str(result.detail)


def test_cpu_and_gpu_agree_on_the_first_loss() -> None:
    task = small("resnet-v1-20/cifar10")
    model = task.build(A)
    x = torch.randn(8, 3, 32, 32)
    y = model.train()(x)
    torch.testing.assert_close(model.to(CUDA)(x.to(CUDA)).cpu(), y, rtol=2e-2, atol=2e-2)


def test_runs_one_after_another_keep_no_more_memory() -> None:
    task, kept = small("wrn-10-1/cifar10"), []
    for function in ("relu", A, "relu", A):
        assert pg.train(task, function, epochs=1).failure is None
        kept.append(torch.cuda.memory_allocated())
    assert kept[1:] == kept[1:2] * 3
