"""Which dimension of an activation's input holds the channels."""

from torch import fx, nn

from pangaea.activation.observation import Call
from pangaea.activation.retracing import UntraceableError, traced

_FIRST = (
    nn.modules.conv._ConvNd,
    nn.modules.batchnorm._NormBase,
    nn.GroupNorm,
)
_LAST = (nn.Linear, nn.Bilinear, nn.LayerNorm, nn.RMSNorm, nn.Embedding)
_PASSING = (
    nn.Identity,
    nn.modules.dropout._DropoutNd,
    nn.modules.pooling._MaxPoolNd,
    nn.modules.pooling._AvgPoolNd,
)


def channel_dim(call: Call) -> tuple[int, str]:
    """The dimension, and a word where it is a guess."""
    if call.channels is not None:
        return call.channels.dim, ""
    if len(call.shape) == 3:
        return -1, "channels guessed: no layer before it, so the last of three dimensions"
    guess = "" if len(call.shape) == 2 else "channels guessed: no layer before it"
    return 1, guess


def lazy_channel_dim(home: nn.Module, name: str) -> int | None:
    """The dimension by the layer before, where the model's own structure tells it."""
    before = _before_in_sequence(home, name) if isinstance(home, nn.Sequential) else None
    if before is None:
        before = _before_in_forward(home, name)
    if isinstance(before, _FIRST):
        return 1
    return -1 if isinstance(before, _LAST) else None


def _before_in_sequence(home: nn.Sequential, name: str) -> nn.Module | None:
    names = [*home._modules]
    for earlier in reversed(names[: names.index(name)]):
        module = home._modules[earlier]
        if not isinstance(module, _PASSING):
            return module
    return None


def _before_in_forward(home: nn.Module, name: str) -> nn.Module | None:
    """The module whose result the activation takes, if it is called once in the forward."""
    try:
        graph, _ = traced(home, {})
    except UntraceableError:
        return None
    calls = [n for n in graph.nodes if n.op == "call_module" and n.target == name]
    if len(calls) != 1 or not calls[0].args:
        return None
    node = calls[0].args[0]
    while isinstance(node, fx.Node) and node.op == "call_module":
        module = home.get_submodule(str(node.target))
        if not isinstance(module, _PASSING):
            return module
        node = node.args[0]
    return None
