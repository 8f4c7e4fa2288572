"""Batch norm and activation in one, on a GPU.

python -m pytest tests/gpu/test_norms.py -m gpu
"""

import pytest
import torch
from torch import Tensor

from tests import norm_truth as truth

pytestmark = pytest.mark.gpu

REAL = [
    truth.Case((128, 64, 32, 32), dtype=torch.bfloat16, last=True),
    truth.Case((128, 16, 32, 32), last=True),
    truth.Case((128, 256, 8, 8), dtype=torch.bfloat16, last=True, shortcut=True),
    truth.Case((128, 64, 8, 8), "relu", shortcut=True),
    truth.Case((64, 96, 28, 28), "max(x, alpha*tanh(x))", "layer"),
]


@pytest.mark.parametrize("case", [*truth.CASES, *REAL], ids=str)
def test_values_gradients_and_running_statistics(case: truth.Case) -> None:
    truth.check(case, "cuda")


def test_the_same_in_every_run_and_in_a_captured_graph() -> None:
    case = truth.Case((128, 64, 32, 32), dtype=torch.bfloat16, last=True)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        layer = truth.layer(case, "cuda")
        x = torch.randn(case.shape, device="cuda").bfloat16()
        x = x.contiguous(memory_format=torch.channels_last).requires_grad_()

        def step() -> list[Tensor]:
            y = layer(x)
            return [y, *torch.autograd.grad(y.float().square().sum(), [x, *layer.parameters()])]

        first = step()
        for _ in range(3):
            assert all(torch.equal(a, b) for a, b in zip(first, step(), strict=True))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            captured = step()
        for t in captured:
            t.detach().zero_()
        before = layer.norm.num_batches_tracked.item()
        graph.replay()
        assert all(torch.equal(a, b) for a, b in zip(first, captured, strict=True))
        assert layer.norm.num_batches_tracked.item() == before + 1
