"""Flax: a linen module around the JAX function, its parameters per layer, channel or neuron."""

from pangaea.export.request import Request
from pangaea.export.targets import jax

OPERATORS = jax.OPERATORS

_MODULE = '''
class {title}(nn.Module):
    """{formula}

    One set of parameters for the layer, for each channel (the last dimension) or for each neuron.
    """

    per: str = "{scope}"

    @nn.compact
    def __call__(self, x):
        shape = {{"layer": (), "channel": x.shape[-1:], "neuron": x.shape[1:]}}[self.per]
{lines}
        return {name}(x, {arguments})
'''
_BARE = '''
class {title}(nn.Module):
    """{formula}"""

    @nn.compact
    def __call__(self, x):
        return {name}(x)
'''


def export(request: Request) -> str:
    values = request.values
    lines = []
    for parameter, number in values.numbers.items():
        start = f"nn.initializers.constant({number!r})"
        if isinstance(number, list):
            start = f"lambda _, shape: {parameter.upper()}.reshape(shape)"
        lines.append(f'        {parameter} = self.param("{parameter}", {start}, shape)')
    module = (_MODULE if values.numbers else _BARE).format(
        title=request.class_name(),
        formula=request.function.readable(),
        scope=request.scope,
        lines="\n".join(lines),
        name=jax.function_name(request),
        arguments=", ".join(values.numbers),
    )
    imports = "import jax\nimport jax.numpy as jnp\nfrom flax import linen as nn"
    return jax.source(request, imports, module)
