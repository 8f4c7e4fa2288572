"""ONNX: a graph of standard operators in float32, the parameters as its initializers."""

from collections.abc import Callable
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.export import fits
from pangaea.export.request import Request, Values
from pangaea.functions.learnable import steps_of
from pangaea.functions.scalar import GELU_CUBIC, GELU_SCALE, SELU_ALPHA, SELU_SCALE

OPSET = 18  # the first with Mish; onnxruntime 1.14 and later know it


class Graph:
    """Nodes and initializers as they are added; each value is known by its name."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator.lower()}_{len(self.nodes) + 1}"
        node = self.onnx.helper.make_node(operator, list(inputs), [name], **attributes)
        self.nodes.append(node)
        return name

    def number(self, value: float) -> str:
        name = f"number_{value!r}"
        return self.floats(name, [value], ())

    def floats(self, name: str, values: list[float], shape: tuple[int, ...]) -> str:
        kind = self.onnx.TensorProto.FLOAT
        self.initializers[name] = self.onnx.helper.make_tensor(name, kind, shape, values)
        return name

    def integers(self, values: list[int], shape: tuple[int, ...]) -> str:
        name = f"integers_{'_'.join(map(str, values))}_{len(shape)}"
        kind = self.onnx.TensorProto.INT64
        self.initializers[name] = self.onnx.helper.make_tensor(name, kind, shape, values)
        return name

    def scaled(self, x: str, factor: float, offset: float = 0.0) -> str:
        """factor·x + offset."""
        product = self.node("Mul", x, self.number(factor)) if factor != 1 else x
        return self.node("Add", product, self.number(offset)) if offset else product


def _divided(g: Graph, a: str, b: str) -> str:
    """0 where the divisor is 0."""
    zero, one = g.number(0.0), g.number(1.0)
    at_zero = g.node("Equal", b, zero)
    return g.node("Where", at_zero, zero, g.node("Div", a, g.node("Where", at_zero, one, b)))


def _expm1(g: Graph, x: str) -> str:
    """tanh(x/2)·(exp(x) + 1), which keeps its digits at zero."""
    return g.node("Mul", g.node("Tanh", g.scaled(x, 0.5)), g.scaled(g.node("Exp", x), 1, 1.0))


def _swish(g: Graph, x: str) -> str:
    return g.node("Mul", x, g.node("Sigmoid", x))


def _elish(g: Graph, x: str) -> str:
    return g.node("Mul", g.node("Elu", x), g.node("Sigmoid", x))


def _gelu(g: Graph, x: str) -> str:
    """The tanh form, as a sigmoid: it keeps its digits in the tail, and does not overflow."""
    v = g.node("Clip", x, g.number(-50.0), g.number(50.0))
    cubic = g.node("Mul", v, g.scaled(g.node("Mul", v, v), GELU_CUBIC, 1.0))
    return g.node("Mul", x, g.node("Sigmoid", g.scaled(cubic, 2 * GELU_SCALE)))


def _bessel(order: int) -> Callable[[Graph, str], str]:
    """Two polynomials: in x² times exp(−|x|), and in 1/|x| times its root."""

    def polynomial(g: Graph, coefficients: list[float], x: str) -> str:
        first, *rest = coefficients
        total = g.number(first)
        for coefficient in rest:
            total = g.node("Add", g.node("Mul", total, x), g.number(coefficient))
        return total

    def value(g: Graph, x: str) -> str:
        joint, size = g.number(fits.JOINT), g.node("Abs", x)
        low = g.node("Min", size, joint)
        near = polynomial(g, fits.near(order), g.node("Mul", low, low))
        near = g.node("Mul", near, g.node("Exp", g.node("Neg", low)))
        if order == 1:
            near = g.node("Mul", near, low)
        inverse = g.node("Reciprocal", g.node("Max", size, joint))
        far = g.node("Mul", polynomial(g, fits.far(order), inverse), g.node("Sqrt", inverse))
        result = g.node("Where", g.node("Less", size, joint), near, far)
        return g.node("Mul", result, g.node("Sign", x)) if order == 1 else result

    return value


def _constant(number: float) -> Callable[[Graph, str], str]:
    return lambda g, x: g.node("Expand", g.number(number), g.node("Shape", x))


def _standard(operator: str, **attributes: Any) -> Callable[..., str]:
    return lambda g, *inputs: g.node(operator, *inputs, **attributes)


OPERATORS: dict[str, Callable[..., str]] = {
    "zero": _constant(0.0),
    "one": _constant(1.0),
    "identity": lambda g, x: x,
    "negative": _standard("Neg"),
    "abs": _standard("Abs"),
    "reciprocal": lambda g, x: _divided(g, g.number(1.0), x),
    "square": lambda g, x: g.node("Mul", x, x),
    "exp": _standard("Exp"),
    "erf": _standard("Erf"),
    "erfc": lambda g, x: g.node("Sub", g.number(1.0), g.node("Erf", x)),
    "sinh": _standard("Sinh"),
    "cosh": _standard("Cosh"),
    "tanh": _standard("Tanh"),
    "expm1": _expm1,
    "sigmoid": _standard("Sigmoid"),
    "logsigmoid": lambda g, x: g.node("Neg", g.node("Softplus", g.node("Neg", x))),
    "asinh": _standard("Asinh"),
    "atan": _standard("Atan"),
    "bessel_i0e": _bessel(0),
    "bessel_i1e": _bessel(1),
    "relu": _standard("Relu"),
    "elu": _standard("Elu"),
    "selu": _standard("Selu", alpha=SELU_ALPHA, gamma=SELU_SCALE),
    "swish": _swish,
    "softplus": _standard("Softplus"),
    "softsign": _standard("Softsign"),
    "hard_sigmoid": _standard("HardSigmoid", alpha=0.2, beta=0.5),
    "add": _standard("Add"),
    "sub": _standard("Sub"),
    "mul": _standard("Mul"),
    "div": _divided,
    "pow": _standard("Pow"),
    "max": _standard("Max"),
    "min": _standard("Min"),
    "elish": _elish,
    "gelu": _gelu,
    "leaky_relu": _standard("LeakyRelu", alpha=0.01),
    "mish": _standard("Mish"),
}


def export(request: Request) -> bytes:
    try:
        import onnx
    except ImportError:
        raise PangaeaError(
            "an ONNX graph needs the package onnx: pip install 'pangaea-search[export]'"
        ) from None
    function, values = request.function, request.values
    graph = Graph(onnx)
    parameters = _parameters(graph, values)
    names = ["x"]
    for step in steps_of(function):
        inputs = [names[i] for i in step.inputs]
        if step.operator is None:
            names.append(graph.node("Mul", inputs[0], parameters[step.parameter]))
        else:
            names.append(OPERATORS[step.operator](graph, *inputs))
    graph.nodes.append(onnx.helper.make_node("Identity", [names[-1]], ["y"]))
    # Of any shape: it has no dimensions declared, which onnx's own checker would have.
    kind = onnx.TensorProto.FLOAT
    x, y = (onnx.helper.make_tensor_value_info(name, kind, None) for name in "xy")
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes, request.name, [x], [y], list(graph.initializers.values())
        ),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=9,  # that of the same time: newer ones shut older readers out
        doc_string=function.readable(),
        producer_name="pangaea",
    )
    content: bytes = model.SerializeToString()
    return content


def _parameters(graph: Graph, values: Values) -> list[str]:
    """The parameters as they broadcast against x, whose number of dimensions is not known yet."""
    names = []
    for name, number in values.numbers.items():
        flat = number if isinstance(number, list) else [number]
        names.append(graph.floats(name, flat, values.shape))
    dim = values.channel_dim
    if dim is None or dim == -1 or not names:
        return names
    if dim > 0:
        rank = graph.node("Size", graph.node("Shape", "x"))
        count = graph.node("Sub", rank, graph.integers([dim + 1], ()))
        after = graph.node("Reshape", count, graph.integers([1], (1,)))
    else:
        after = graph.integers([-dim - 1], (1,))
    one = graph.onnx.helper.make_tensor("one", graph.onnx.TensorProto.INT64, (1,), [1])
    ones = graph.node("ConstantOfShape", after, value=one)
    shape = graph.node("Concat", graph.integers([-1], (1,)), ones, axis=0)
    return [graph.node("Reshape", name, shape) for name in names]
