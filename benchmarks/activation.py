"""What an activation costs on a GPU, forwards and back: kernels, SiLU, eager and `torch.compile`.

    python benchmarks/activation.py [--shape 128,256,64,64] [--layout contiguous] [--json FILE]
    python benchmarks/activation.py --only prelu apl pau splash --skip-compile

Everything is measured in one run, each step captured in a CUDA graph; a ratio is to SiLU's time in
the same precision. "special" counts an element's operations on the special-function units (2ˣ,
log₂, 1/x, √x), forwards and back together; "wall" is the least time that they take.
"""

import argparse
import json
import math
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import pangaea as pg
from pangaea.activation.kernels import launch
from pangaea.activation.kernels import programs as kernels
from pangaea.activation.kernels.layout import COLUMNS
from pangaea.activation.program import run
from pangaea.functions.catalog import resolve
from pangaea.functions.learnable import Learnable, steps_of

NAMES = (
    *("wrn-1", "wrn-2", "wrn-3", "resnet-v1-1", "resnet-v1-2", "resnet-v1-3"),
    *("resnet-v2-1", "resnet-v2-2", "resnet-v2-3", "general-1", "general-2", "general-3"),
    *("tanh", "pswish", "random-search-3", "per-layer-3", "per-channel-2-2"),
    *("random-sample-neuron", "mutation-insert"),
)
OTHERS = {
    "bessel": "alpha*bessel_i0e(x) * beta*bessel_i1e(gamma*x)",
    "deep-8": "max(alpha*tanh(swish(x)), asinh(beta*elu(x))) * sigmoid(gamma*atan(x))",
    "deep-12": "erf(alpha*softplus(atan(x)) - tanh(beta*sinh(softsign(x)))) "
    "* elish(mish(gelu(x)) / cosh(gamma*x))",
}
SPECIAL = ("ex2.approx", "lg2.approx", "rcp.approx", "sqrt.approx", "div.full")
UNITS, CLOCK = 16, 1.98e9  # special functions a cycle and multiprocessor; the highest clock, Hz
THREADS = 128  # of a program


def microseconds(step: Callable[[], object]) -> float:
    """Median over the replays of a captured step's time."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    step()
    torch.cuda.synchronize()
    # About 50 ms of work, so that slow functions do not take minutes.
    repeats = 5 if time.perf_counter() - started < 0.005 else 1
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(repeats):
                step()
    times = []
    for _ in range(12):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / repeats)
    return statistics.median(times[2:])


def measured(function: Callable[[Tensor], Tensor], leaves: list[Tensor], dy: Tensor) -> list[float]:
    """Microseconds forwards and back, and extra memory at the peak in units of the input."""
    x = leaves[0]

    def step() -> None:
        torch.autograd.grad(function(x), leaves, dy)

    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    extra = torch.cuda.max_memory_allocated() - before
    return [microseconds(step), extra / (x.numel() * x.element_size())]


def eager(module: pg.Activation) -> Callable[[Tensor], Tensor]:
    """The same function operator by operator."""
    steps = steps_of(module.function)

    def forward(x: Tensor) -> Tensor:
        parameters = list(module.parameters())
        shape = module._aligned(parameters[0], x) if parameters else ()
        return run(steps, x.float(), parameters, shape).to(x.dtype)

    return forward


def special_functions(function: pg.Function | Learnable) -> float:
    """Operations of an element on the special-function units in the two kernels last compiled."""
    total = 0.0
    made = launch.form(str(function))
    alone = not function.parameters
    for kernel, usual in ((kernels.forward, launch.FORWARD), (kernels.backward, launch.BACKWARD)):
        compiled = list(kernel.device_caches[torch.cuda.current_device()][0].values())[-1]
        rows = made.schedule(launch.ALONE if alone else usual).rows
        elements = rows * COLUMNS // THREADS
        total += sum(compiled.asm["ptx"].count(name) for name in SPECIAL) / elements
    return total


def row(name: str, x: Tensor, dy: Tensor, silu: list[float], compiled: bool) -> dict[str, object]:
    function = resolve(OTHERS.get(name, name))
    module = pg.Activation(function, shape=tuple(x.shape[1:])).cuda()
    leaves = [x, *module.parameters()]
    started = time.perf_counter()
    torch.autograd.grad(module(x), leaves, dy)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    ours, special = measured(module, leaves, dy), special_functions(function)
    plain = measured(eager(module), leaves, dy)
    rate = torch.cuda.get_device_properties(0).multi_processor_count * UNITS * CLOCK
    result: dict[str, object] = {
        "function": name,
        "nodes": len(steps_of(function)) if isinstance(function, Learnable) else function.nodes,
        "seconds to first step": seconds,
        "microseconds": ours[0],
        "ratio": ours[0] / silu[0],
        "memory": ours[1],
        "special": special,
        "wall": 1e6 * x.numel() * special / rate,
        "eager": plain[0],
        "eager memory": plain[1],
    }
    if compiled:
        torch._dynamo.reset()
        result["compile"] = measured(torch.compile(eager(module)), leaves, dy)[0]
    return result


HEAD = "  function              nodes    µs  ratio  memory special  wall  eager/ compile/   s"


def show(r: dict[str, object]) -> None:
    beside = [r.get(k, math.nan) / r["microseconds"] for k in ("eager", "compile")]
    print(
        f"  {r['function']:21} {r['nodes']:5} {r['microseconds']:5.0f} {r['ratio']:6.2f} "
        f"{r['memory']:7.2f} {r['special']:7.1f} {r['wall']:5.0f} {beside[0]:7.1f} "
        f"{beside[1]:8.2f} {r['seconds to first step']:4.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="128,256,64,64")
    parser.add_argument("--layout", choices=["contiguous", "channels_last"], default="contiguous")
    parser.add_argument("--only", nargs="*", help="some of the functions")
    parser.add_argument("--dtype", nargs="*", default=["float32", "bfloat16"])
    parser.add_argument("--skip-compile", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    shape = tuple(map(int, options.shape.split(",")))
    layout = getattr(torch, options.layout.replace("contiguous", "contiguous_format"))
    device, kinds = torch.cuda.get_device_name(), {}
    print(f"{options.shape} {options.layout}, {device}, torch {torch.__version__}")
    for dtype in options.dtype:
        torch.manual_seed(0)
        x, dy = (
            torch.randn(shape, device="cuda").to(getattr(torch, dtype), memory_format=layout)
            for _ in range(2)
        )
        x.requires_grad_()
        relu, silu = (measured(f, [x], dy) for f in (nn.ReLU(), nn.SiLU()))
        print(f"{dtype}: ReLU {relu[0]:.0f} µs, SiLU {silu[0]:.0f} µs, memory {silu[1]:.2f}x")
        print(HEAD)
        rows = []
        for name in options.only or (*NAMES, *OTHERS):
            rows.append(row(name, x, dy, silu, not options.skip_compile))
            show(rows[-1])
        print(f"  median ratio {statistics.median(r['ratio'] for r in rows):.2f}", flush=True)
        kinds[dtype] = {"relu": relu, "silu": silu, "rows": rows}
        del x, dy
    if options.json:
        facts = {
            "shape": shape,
            "layout": options.layout,
            "device": device,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "dtypes": kinds,
        }
        Path(options.json).write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
