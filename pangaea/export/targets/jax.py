"""JAX: a function of x and its parameters; `flax` makes a module of it."""

from pangaea.export.definitions import definitions
from pangaea.export.request import Request
from pangaea.export.writing import (
    SIGNS,
    calls,
    expression,
    python_arguments,
    python_function,
    python_source,
    shaped,
    used,
)
from pangaea.functions.learnable import steps_of
from pangaea.functions.operators import ATOM, POWER, Notation

OPERATORS: dict[str, Notation] = {
    **SIGNS,
    "square": Notation("%s**2", POWER, (ATOM,)),
    **calls(
        {
            "zero": "jnp.zeros_like",
            "one": "jnp.ones_like",
            "abs": "jnp.abs",
            "reciprocal": "reciprocal",
            "exp": "jnp.exp",
            "erf": "jax.scipy.special.erf",
            "erfc": "jax.scipy.special.erfc",
            "sinh": "jnp.sinh",
            "cosh": "jnp.cosh",
            "tanh": "jnp.tanh",
            "expm1": "jnp.expm1",
            "sigmoid": "jax.nn.sigmoid",
            "logsigmoid": "jax.nn.log_sigmoid",
            "asinh": "jnp.arcsinh",
            "atan": "jnp.arctan",
            "bessel_i0e": "jax.scipy.special.i0e",
            "bessel_i1e": "jax.scipy.special.i1e",
            "relu": "jax.nn.relu",
            "elu": "jax.nn.elu",
            "selu": "jax.nn.selu",
            "swish": "jax.nn.silu",
            "softplus": "jax.nn.softplus",
            "softsign": "jax.nn.soft_sign",
            "div": "divide",
            "pow": "power",
            "max": "maximum",
            "min": "minimum",
            "elish": "elish",
            "gelu": "gelu",
            "leaky_relu": "jax.nn.leaky_relu",
            "mish": "jax.nn.mish",
        }
    ),
    # jax.nn.hard_sigmoid is another one, with the slope 1/6.
    "hard_sigmoid": Notation("jnp.clip(0.2 * %s + 0.5, 0, 1)", ATOM, (POWER,)),
}

DEFINITIONS = definitions(
    "jnp",
    {
        "stop_gradient(": "jax.lax.stop_gradient(",
        "elu(": "jax.nn.elu(",
        "sigmoid(": "jax.nn.sigmoid(",
    },
)


def export(request: Request) -> str:
    return source(request, "import jax\nimport jax.numpy as jnp")


def source(request: Request, imports: str, *parts: str) -> str:
    """The function, and what a module adds to it."""
    function, values = request.function, request.values
    name = function_name(request)
    shared, result = expression(steps_of(function), OPERATORS, function.parameters)
    head = f"{name}({python_arguments(values)})"
    value = python_function(head, function.readable(), shared, result)
    needed = used(value, DEFINITIONS)
    text = "".join((value, *needed, *shaped(values, "jnp.array(%s)")))
    for line, use in (("import jax\n", "jax."), ("import jax.numpy as jnp", "jnp.")):
        imports = imports if use in text else imports.replace(line, "").strip()
    arrays = "".join(f"\n\n{line}" for line in shaped(values, "jnp.array(%s)"))
    docstring = f'"""{function.readable()}"""'
    return python_source(f"{docstring}\n\n{imports}{arrays}", needed, value, *parts)


def function_name(request: Request) -> str:
    return request.identifier({*DEFINITIONS, "jax", "jnp", "nn"})
