"""Keras 3: a layer for any of its backends, its parameters per layer, channel or neuron."""

from pangaea.export import fits
from pangaea.export.definitions import definitions
from pangaea.export.request import Request
from pangaea.export.writing import (
    SIGNS,
    calls,
    expression,
    lists,
    python_function,
    python_source,
    used,
    wrapped,
)
from pangaea.functions.learnable import steps_of
from pangaea.functions.operators import ATOM, POWER, SUM, Notation

OPERATORS: dict[str, Notation] = {
    **SIGNS,
    "square": Notation("%s**2", POWER, (ATOM,)),
    **calls(
        {
            "zero": "ops.zeros_like",
            "one": "ops.ones_like",
            "abs": "ops.abs",
            "reciprocal": "reciprocal",
            "exp": "ops.exp",
            "erf": "ops.erf",
            "sinh": "ops.sinh",
            "cosh": "ops.cosh",
            "tanh": "ops.tanh",
            "expm1": "ops.expm1",
            "sigmoid": "ops.sigmoid",
            "logsigmoid": "ops.log_sigmoid",
            "asinh": "ops.arcsinh",
            "atan": "ops.arctan",
            "bessel_i0e": "bessel_i0e",
            "bessel_i1e": "bessel_i1e",
            "relu": "ops.relu",
            "elu": "ops.elu",
            "selu": "ops.selu",
            "swish": "ops.silu",
            "softplus": "ops.softplus",
            "softsign": "softsign",
            "div": "divide",
            "pow": "power",
            "max": "maximum",
            "min": "minimum",
            "elish": "elish",
            "gelu": "gelu",
            "mish": "mish",
        }
    ),
    "erfc": Notation("1 - ops.erf(%s)", SUM, (SUM,)),
    # Keras has others, with the slopes 1/6 and 0.2.
    "hard_sigmoid": Notation("ops.clip(0.2 * %s + 0.5, 0, 1)", ATOM, (POWER,)),
    "leaky_relu": Notation("ops.leaky_relu(%s, negative_slope=0.01)", ATOM, (SUM,)),
}


def _bessel(order: int) -> str:
    """Two polynomials: in x² times exp(−|x|), and in 1/|x| times its root."""
    factor, sign = ("", "") if order == 0 else (" * x", "ops.sign(x) * ")
    return f'''
def bessel_i{order}e(x):
    """exp(-|x|) * I{order}(x) as polynomials, right to 3e-7."""
    size = ops.abs(x)
    low = ops.where(size < {fits.JOINT}, x, 0.0)
    near = ops.exp(-ops.abs(low)) * polynomial(NEAR, low * low){factor.replace("x", "low")}
    root = ops.rsqrt(ops.where(size < {fits.JOINT}, {fits.JOINT}, size))
    far = {sign}root * polynomial(FAR, root * root)
    return ops.where(size < {fits.JOINT}, near, far)
'''.replace("NEAR", f"I{order}_NEAR").replace("FAR,", f"I{order}_FAR,")


DEFINITIONS = {
    **definitions(
        "ops",
        {"stop_gradient(": "ops.stop_gradient(", "elu(": "ops.elu(", "sigmoid(": "ops.sigmoid("},
    ),
    "softsign": """
def softsign(x):
    return x / (1 + ops.abs(x))
""",
    "mish": """
def mish(x):
    return x * ops.tanh(ops.softplus(x))
""",
    "polynomial": """
def polynomial(coefficients, x):
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total
""",
    "bessel_i0e": _bessel(0),
    "bessel_i1e": _bessel(1),
}

_LAYER = '''
@keras.saving.register_keras_serializable(package="{name}")
class {title}(keras.layers.Layer):
    """{formula}

    One set of parameters for the layer, for each channel (at `axis`) or for each neuron.
    """

    def __init__(self, scope="{scope}", axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.scope, self.axis = scope, axis

    def build(self, input_shape):
        shape = [1] * len(input_shape[1:])
        if self.scope == "neuron":
            shape = input_shape[1:]
        elif self.scope == "channel":
            axis = self.axis % len(input_shape)
            shape[axis - 1] = input_shape[axis]
        elif self.scope != "layer":
            raise ValueError(f"scope is layer, channel or neuron, got {{self.scope}}")
{lines}

    def call(self, x):
        return {name}(x, {arguments})

    def get_config(self):
        return {{**super().get_config(), "scope": self.scope, "axis": self.axis}}
'''
_BARE = '''
@keras.saving.register_keras_serializable(package="{name}")
class {title}(keras.layers.Layer):
    """{formula}"""

    def call(self, x):
        return {name}(x)
'''


def export(request: Request) -> str:
    function, values = request.function, request.values
    name = request.identifier({*DEFINITIONS, "keras", "ops"})
    shared, result = expression(steps_of(function), OPERATORS, function.parameters)
    arguments = ", ".join(("x", *function.parameters))
    value = python_function(f"{name}({arguments})", function.readable(), shared, result)
    needed = used(value, DEFINITIONS)
    constants = lists(values.numbers, "%s")
    for order in (0, 1):
        if f"I{order}_NEAR" in "".join(needed):
            constants.append(f"I{order}_NEAR = {wrapped(fits.near(order))}")
            constants.append(f"I{order}_FAR = {wrapped(fits.far(order))}")
    layer = (_LAYER if values.numbers else _BARE).format(
        title=request.class_name(),
        formula=function.readable(),
        scope=request.scope,
        lines="\n".join(map(_weight, values.numbers.items())),
        name=name,
        arguments=", ".join(f"self.{parameter}" for parameter in values.numbers),
    )
    head = [f'"""{function.readable()}"""\n', "import keras", "from keras import ops"]
    head += [f"\n{line}" for line in constants]
    return python_source("\n".join(head), needed, value, layer)


def _weight(item: tuple[str, float | list[float]]) -> str:
    parameter, number = item
    start = f"keras.initializers.Constant({number!r})"
    if isinstance(number, list):
        array = f"ops.convert_to_tensor({parameter.upper()}, dtype)"
        start = f"lambda shape, dtype: ops.reshape({array}, shape)"
    return (
        f"        self.{parameter} = self.add_weight(\n"
        f'            shape=tuple(shape), initializer={start}, name="{parameter}"\n        )'
    )
