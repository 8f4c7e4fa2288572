"""A module's own forward as a graph, in which every call of an activation can be exchanged.

The module stays the same object: its class becomes a subclass of its own with the new forward.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from inspect import getattr_static
from types import CodeType, FrameType
from typing import Any

import torch
from torch import fx, nn
from torch.utils.checkpoint import checkpoint

from pangaea.activation.graph_calls import ActivationCall, activation_calls
from pangaea.activation.observation import tensors
from pangaea.activation.recognition import is_activation
from pangaea.activation.subclassing import (
    ABSENT,
    derived,
    forward_source,
    portable,
    refusing,
    subclass,
)
from pangaea.activation.untouched import Attributes, Drawn
from pangaea.locating import signature

PLAIN = (type(None), bool, int, float, str)
# What a graph would lose: calls of these functions leave nothing in it, or not all that they do.
_LOST = {
    torch.autograd.Function.apply.__code__: "it has a gradient of its own, {cls.__name__}",
    inspect.unwrap(checkpoint).__code__: "it computes parts of it once more for the gradient",
}
Arguments = list[tuple[tuple[Any, ...], dict[str, Any]]]


class UntraceableError(Exception):
    """A forward that a graph cannot stand for, and why."""


class _Tracer(fx.Tracer):
    """Records a module's own forward, the modules inside it as calls, and nothing that it loses."""

    def __init__(self, fixed: dict[str, Any]) -> None:
        super().__init__()
        self.proxy_buffer_attributes = True
        self.fixed = fixed
        self.modes = _modes()

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return True

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        """An activation that is no part of the module, as in `nn.ReLU()(x)`, is its function."""
        if is_activation(m) and all(m is not part for part in self.root.modules()):
            return forward(*args, **kwargs)
        return super().call_module(m, forward, args, kwargs)

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        names = [*_signature(root_fn).parameters]
        values = [
            self.fixed[name]
            if name in self.fixed
            else self.create_proxy("placeholder", name, (), {})
            for name in names
        ]
        return lambda *given: root_fn(self.root, **dict(zip(names, given, strict=True))), values

    def create_node(self, *args: Any, **kwargs: Any) -> fx.Node:
        if _modes() != self.modes:
            raise UntraceableError("it switches gradients or autocast")
        node = super().create_node(*args, **kwargs)
        node.meta["methods"] = {*self._methods()}
        return node

    def _methods(self) -> Iterator[str]:
        """In which methods of the module's its forward is just now."""
        frame = sys._getframe()
        while (caller := frame.f_back) is not None:
            frame = caller
            if (name := self._named.get(frame.f_code)) is not None:
                yield name

    @cached_property
    def _named(self) -> dict[CodeType, str]:
        methods = inspect.getmembers(type(self.root), inspect.isfunction)
        theirs = ((n, m) for n, m in methods if n != "forward" and not hasattr(nn.Module, n))
        return {inspect.unwrap(method).__code__: name for name, method in theirs}


def _modes() -> tuple[bool, ...]:
    autocast = [torch.is_autocast_enabled(device) for device in ("cpu", "cuda")]
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *autocast


def _signature(forward: Any) -> inspect.Signature:
    """The arguments after `self`."""
    whole = signature(forward)
    return whole.replace(parameters=[*whole.parameters.values()][1:])


def _fixed(module: nn.Module, arguments: Arguments) -> dict[str, Any]:
    """The arguments that are no tensors in any call: constants of the graph."""
    called = _signature(type(module).forward)
    for parameter in called.parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD and (
            parameter.kind is not parameter.KEYWORD_ONLY
        ):
            raise UntraceableError(f"its forward takes {parameter}")
        if parameter.default is not parameter.empty and not isinstance(parameter.default, PLAIN):
            raise UntraceableError(f"its argument {parameter.name} has no plain value by default")
    constants: list[dict[str, Any]] = []
    for args, kwargs in arguments:
        bound = called.bind(*args, **kwargs)
        bound.apply_defaults()
        constants.append({n: v for n, v in bound.arguments.items() if not [*tensors(v)]})
    for name, value in constants[0].items():
        if not isinstance(value, PLAIN):
            raise UntraceableError(f"its argument {name} is a {type(value).__name__}")
    if any(constant != constants[0] for constant in constants):
        raise UntraceableError("it is called with different arguments in one pass")
    return constants[0]


@contextmanager
def _watched() -> Iterator[list[str]]:
    """Why a graph cannot stand for what runs, as far as the functions tell that it calls."""
    reasons: list[str] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (reason := _LOST.get(frame.f_code)) is not None:
            reasons.append(reason.format_map(frame.f_locals))

    before: Any = sys.getprofile()
    sys.setprofile(look)
    try:
        yield reasons
    finally:
        if callable(before) or not hasattr(before, "enable"):
            sys.setprofile(before)
        else:
            before.enable()  # cProfile's, which is no function on Python 3.11


@contextmanager
def _reading(module: nn.Module) -> Iterator[dict[str, Any]]:
    """Plain values that are read from the module, by name: a graph has them as constants.

    That there is no such attribute, or part, is one of them.
    """
    kind: Any = type(module)
    read: dict[str, Any] = {}

    def reading(self: nn.Module, name: str) -> Any:
        value = kind.__getattribute__(self, name)
        kept = isinstance(value, PLAIN) and isinstance(getattr_static(self, name), PLAIN)
        if kept and name != "training":
            read[name] = value
        return value

    def parts(self: nn.Module, name: str) -> Any:
        try:
            value = kind.__getattr__(self, name)
        except AttributeError:
            read[name] = ABSENT
            raise
        if value is None:
            read[name] = value
        return value

    module.__class__ = derived(kind, {"__getattribute__": reading, "__getattr__": parts})
    try:
        yield read
    finally:
        module.__class__ = kind


def traced(module: nn.Module, fixed: dict[str, Any]) -> tuple[fx.Graph, dict[str, Any]]:
    """A module's own forward as a graph, with these arguments constant and these attributes."""
    attributes, drawn = Attributes([module]), Drawn()
    tracer, lost = _Tracer(fixed), list[str]()
    try:
        with _reading(module) as read, _watched() as lost:
            graph = tracer.trace(module)
    except UntraceableError:
        raise
    except Exception as error:
        if lost:
            raise UntraceableError(lost[0]) from error
        reason = " ".join(str(error).split()).split(". ")[0] or type(error).__name__
        raise UntraceableError(reason[:120]) from error
    finally:
        changed = attributes.put_back()
        random = drawn.put_back()
    if lost:
        raise UntraceableError(lost[0])
    if random:
        raise UntraceableError("its forward draws random numbers of its own")
    if changed := {name for name in changed if not name.startswith("_tensor_constant")}:
        raise UntraceableError(f"its forward sets {min(changed)}")
    for node in graph.nodes:
        node.type = None
        if node.op == "get_attr" and "_tensor_constant" in node.target:
            raise UntraceableError("its forward makes tensors that a graph would hold constant")
    return graph, read


class Retraced:
    """A module's forward as graphs, one for training and one for evaluation where they differ."""

    def __init__(self, module: nn.Module, arguments: Arguments, repeated: dict[str, bool]) -> None:
        forward = type(module).forward
        if "forward" in vars(module) or isinstance(module, fx.GraphModule | torch.jit.ScriptModule):
            raise UntraceableError("its forward is not its class's own")
        if not inspect.isfunction(forward):
            raise UntraceableError("its forward is not a function")
        self.module = module
        self.kind = type(module)
        self.fixed = _fixed(module, arguments)
        attributes = Attributes(module.modules())  # their modes, and what a train of theirs sets
        self.graphs: list[fx.Graph] = []
        self.read: list[dict[str, Any]] = []
        try:
            for mode in (True, False):
                graph, read = traced(module.train(mode), self.fixed)
                if str(traced(module, self.fixed)[0]) != str(graph):
                    raise UntraceableError("it does not do the same twice")
                with torch.no_grad():
                    if str(traced(module, self.fixed)[0]) != str(graph):
                        raise UntraceableError("it asks whether gradients are on")
                self.graphs.append(graph)
                self.read.append(read)
        finally:
            attributes.put_back()
        if str(self.graphs[0]) == str(self.graphs[1]) and self.read[0] == self.read[1]:
            self.graphs.pop()
        by_graph = [[*activation_calls(graph, repeated)] for graph in self.graphs]
        self.calls = [*zip(*by_graph, strict=False)]
        if len({tuple((call.label, call.target) for call in calls) for calls in by_graph}) > 1:
            raise UntraceableError("it calls other activations in training than in evaluation")

    def _within(self, number: int) -> set[str]:
        """The methods beside forward in which this call is made."""
        pairs = zip(self.graphs, self.calls[number], strict=True)
        nodes = ([*graph.nodes][call.result] for graph, call in pairs)
        return {name for node in nodes for name in node.meta["methods"]}

    def install(self, targets: dict[int, str]) -> None:
        """Let these calls, by their number, go to the modules of these paths instead."""
        self.module.__class__ = self.kind
        if targets:
            sources = []
            names: dict[str, Any] = {}
            for which, graph in enumerate(self.graphs):
                edited = _edited(graph, {self.calls[i][which]: t for i, t in targets.items()})
                code = edited.python_code("self")
                sources.append(code.src)
                names |= code.globals
            source = forward_source(sources, _signature(self.kind.forward), self.fixed, self.read)
            source += refusing({name for number in targets for name in self._within(number)})
            used = set(re.findall(r"\w+", source))
            kept = tuple((n, portable(v)) for n, v in sorted(names.items()) if n in used)
            kind: Any = self.kind  # the type checker has no hash for classes of modules
            self.module.__class__ = subclass(kind, source, kept)


def _edited(graph: fx.Graph, targets: dict[ActivationCall, str]) -> fx.Graph:
    """A copy of the graph with these calls going to modules."""
    copy = fx.Graph()
    copied: dict[fx.Node, fx.Node] = {}
    output = copy.graph_copy(graph, copied)
    copy.output(output)
    nodes = [copied[node] for node in graph.nodes if node.op != "output"]
    places = {node: i for i, node in enumerate(copy.nodes)}
    for call, target in targets.items():
        old, given = nodes[call.result], nodes[call.entry].all_input_nodes[0]
        with copy.inserting_after(old):
            new = copy.call_module(target, (given,))
        old.replace_all_uses_with(new)
        if call.in_place:
            # Who uses the input later on means what the call has made of it.
            for user in [*given.users]:
                if user is not new and places.get(user, -1) > places[old]:
                    user.replace_input_with(given, new)
        _erase(copy, old)
    return copy


def _erase(graph: fx.Graph, node: fx.Node) -> None:
    """Remove a call and what only it has used."""
    inputs = node.all_input_nodes
    graph.erase_node(node)
    for before in inputs:
        if not before.users and before.op in ("call_function", "call_method", "get_attr"):
            _erase(graph, before)
