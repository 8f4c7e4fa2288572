"""PyTorch: a function, and a module with its parameters. Half precision is computed in float32."""

from pangaea.export.definitions import definitions
from pangaea.export.request import Request, Values
from pangaea.export.writing import (
    SIGNS,
    calls,
    expression,
    lists,
    python_function,
    python_source,
    used,
)
from pangaea.functions.learnable import steps_of
from pangaea.functions.operators import ATOM, POWER, SUM, Notation

OPERATORS: dict[str, Notation] = {
    **SIGNS,
    "square": Notation("%s**2", POWER, (ATOM,)),
    **calls(
        {
            "zero": "torch.zeros_like",
            "one": "torch.ones_like",
            "abs": "torch.abs",
            "reciprocal": "reciprocal",
            "exp": "torch.exp",
            "erf": "torch.erf",
            "erfc": "torch.erfc",
            "sinh": "torch.sinh",
            "cosh": "torch.cosh",
            "tanh": "torch.tanh",
            "expm1": "torch.expm1",
            "sigmoid": "torch.sigmoid",
            "logsigmoid": "F.logsigmoid",
            "asinh": "torch.asinh",
            "atan": "torch.atan",
            "bessel_i0e": "torch.special.i0e",
            "bessel_i1e": "torch.special.i1e",
            "relu": "torch.relu",
            "elu": "F.elu",
            "selu": "F.selu",
            "swish": "F.silu",
            "softsign": "F.softsign",
            "div": "divide",
            "pow": "power",
            "max": "maximum",
            "min": "minimum",
            "elish": "elish",
            "gelu": "gelu",
            "leaky_relu": "F.leaky_relu",
            "mish": "F.mish",
        }
    ),
    # Beyond its threshold, 20 unless told, torch's is x: wrong by 2e-9.
    "softplus": Notation("F.softplus(%s, threshold=40)", ATOM, (SUM,)),
    "hard_sigmoid": Notation("torch.clip(0.2 * %s + 0.5, 0, 1)", ATOM, (POWER,)),
}

DEFINITIONS = definitions(
    "torch",
    {
        "np.power": "torch.pow",
        "stop_gradient(b)": "b.detach()",
        "elu(": "F.elu(",
        "sigmoid(": "torch.sigmoid(",
    },
)


def export(request: Request) -> str:
    function, values = request.function, request.values
    name = request.identifier({*DEFINITIONS, "torch", "nn", "F"})
    arguments = ", ".join(("x", *function.parameters))
    shared, result = expression(steps_of(function), OPERATORS, function.parameters)
    value = python_function(f"{name}({arguments})", function.readable(), shared, result)
    needed = used(value, DEFINITIONS)
    head = [f'"""{function.readable()}"""\n', "import torch"]
    if "F." in "".join((value, *needed)):
        head.append("import torch.nn.functional as F")
    head += ["from torch import nn", *(f"\n{line}" for line in lists(values.numbers, "%s"))]
    return python_source("\n".join(head), needed, value, _module(request, name))


_ANY_SHAPE = """One set of parameters for the layer, or one for each element of `shape`,
    which broadcasts against the input: (64, 1, 1) has one for each of 64 channels of images,
    (64, 32, 32) one for each neuron."""


def _module(request: Request, name: str) -> str:
    values, formula = request.values, request.function.readable()
    head = f"class {request.class_name({'F'})}(nn.Module):\n"
    if not values.numbers:
        return f'{head}    """{formula}"""\n\n{_forward(values, name)}'
    note = _whose(values) if values.shape else _ANY_SHAPE
    lines = ["    def __init__(self):" if values.shape else "    def __init__(self, shape=()):"]
    lines.append("        super().__init__()")
    for parameter, number in values.numbers.items():
        tensor = f"torch.full(shape, {number!r})"
        if isinstance(number, list):
            tensor = f"torch.tensor({parameter.upper()})"
            if len(values.shape) > 1:
                tensor += f".reshape({', '.join(map(str, values.shape))})"
        lines.append(f"        self.{parameter} = nn.Parameter({tensor})")
    start = "\n".join(lines)
    return f'{head}    """{formula}\n\n    {note}\n    """\n\n{start}\n\n{_forward(values, name)}'


def _whose(values: Values) -> str:
    if values.channel_dim is None:
        sizes = ", ".join(map(str, values.shape))
        return f"Parameters for each neuron of inputs of shape (N, {sizes})."
    return f"Parameters for each of {values.shape[0]} channels, dimension {values.channel_dim}."


def _forward(values: Values, name: str) -> str:
    arguments = [f"self.{parameter}" for parameter in values.numbers]
    lines = ["wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x"]
    dim = values.channel_dim
    if dim is not None and dim != -1:
        after = f"(x.ndim - {dim + 1})" if dim > 0 else str(-dim - 1)
        lines.append(f"shape = (-1, *[1] * {after})")
        arguments = [f"{parameter}.view(shape)" for parameter in arguments]
    lines.append(f"return {name}({', '.join(['wide', *arguments])}).to(x.dtype)")
    return "    def forward(self, x):\n" + "".join(f"        {line}\n" for line in lines)
