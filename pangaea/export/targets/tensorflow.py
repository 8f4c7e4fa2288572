"""TensorFlow, whose operators the paper used: a function and a `tf.Module` around it."""

from pangaea.export.request import Request
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
    **calls(
        {
            "zero": "tf.zeros_like",
            "one": "tf.ones_like",
            "abs": "tf.abs",
            "reciprocal": "tf.math.reciprocal_no_nan",
            "square": "tf.square",
            "exp": "tf.exp",
            "erf": "tf.math.erf",
            "erfc": "tf.math.erfc",
            "sinh": "tf.sinh",
            "cosh": "tf.cosh",
            "tanh": "tf.tanh",
            "expm1": "tf.math.expm1",
            "sigmoid": "tf.sigmoid",
            "logsigmoid": "tf.math.log_sigmoid",
            "asinh": "tf.asinh",
            "atan": "tf.atan",
            "bessel_i0e": "tf.math.bessel_i0e",
            "bessel_i1e": "tf.math.bessel_i1e",
            "relu": "tf.nn.relu",
            "elu": "tf.nn.elu",
            "selu": "selu",
            "swish": "tf.nn.silu",
            "softplus": "tf.nn.softplus",
            "softsign": "tf.nn.softsign",
            "div": "tf.math.divide_no_nan",
            "pow": "power",
            "max": "tf.maximum",
            "min": "tf.minimum",
            "elish": "elish",
            "gelu": "gelu",
            "mish": "mish",
        }
    ),
    "hard_sigmoid": Notation("tf.clip_by_value(0.2 * %s + 0.5, 0, 1)", ATOM, (POWER,)),
    "leaky_relu": Notation("tf.nn.leaky_relu(%s, alpha=0.01)", ATOM, (SUM,)),
}

DEFINITIONS = {
    "power": '''
def power(a, b):
    """a ** b; the exponent has no gradient where the base is not positive."""
    positive, one = a > 0, tf.ones_like(a)
    above = tf.pow(tf.where(positive, a, one), b)
    below = tf.pow(tf.where(positive | (b == 0), one, a), tf.stop_gradient(b))
    return tf.where(positive, above, below)
''',
    "selu": '''
def selu(x):
    """As tf.nn.selu, whose gradient is that of the other side between -1e-7 and 0."""
    below = 1.6732632423543772 * tf.math.expm1(tf.minimum(x, 0))
    return 1.0507009873554805 * tf.where(x >= 0, x, below)
''',
    "elish": """
def elish(x):
    return tf.nn.elu(x) * tf.sigmoid(x)
""",
    "gelu": '''
def gelu(x):
    """The tanh form, as a sigmoid: it keeps its digits in the tail, and does not overflow."""
    v = tf.clip_by_value(x, -50, 50)
    return x * tf.sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v))
''',
    "mish": """
def mish(x):
    return x * tf.tanh(tf.nn.softplus(x))
""",
}

_MODULE = '''
class {title}(tf.Module):
    """{formula}

    {whose}
    """

    def __init__(self{shape}):
        super().__init__()
{lines}

    def __call__(self, x):
        return {name}(x, {arguments})
'''
_BARE = '''
class {title}(tf.Module):
    """{formula}"""

    def __call__(self, x):
        return {name}(x)
'''


def export(request: Request) -> str:
    function, values = request.function, request.values
    name = request.identifier({*DEFINITIONS, "tf"})
    shared, result = expression(steps_of(function), OPERATORS, function.parameters)
    arguments = ", ".join(("x", *function.parameters))
    value = python_function(f"{name}({arguments})", function.readable(), shared, result)
    lines = []
    for parameter, number in values.numbers.items():
        start = f"tf.fill(shape, {number!r})"
        if isinstance(number, list):
            start = f"tf.reshape(tf.constant({parameter.upper()}), {list(values.shape)})"
        lines.append(f'        self.{parameter} = tf.Variable({start}, name="{parameter}")')
    whose = "Parameters of `shape`, which broadcasts against the input: (64,) has one per channel."
    if values.shape:
        whose = "Its parameters broadcast against the input, whose last dimension is the channels."
    module = (_MODULE if values.numbers else _BARE).format(
        title=request.class_name(),
        formula=function.readable(),
        whose=whose,
        shape="" if values.shape else ", shape=()",
        lines="\n".join(lines),
        name=name,
        arguments=", ".join(f"self.{parameter}" for parameter in values.numbers),
    )
    arrays = "".join(f"\n\n{line}" for line in lists(values.numbers, "%s"))
    head = f'"""{function.readable()}"""\n\nimport tensorflow as tf{arrays}'
    return python_source(head, used(value, DEFINITIONS), value, module)
