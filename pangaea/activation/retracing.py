"""A module's own forward as a graph, in which every call of an activation can be exchanged.

The module stays the same object: its class becomes a subclass of its own with the new forward.
"""

import inspect
import operator
import random
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn

from pangaea.activation.observation import tensors
from pangaea.activation.recognition import FUNCTIONS, METHODS, SQUASHING
from pangaea.errors import PangaeaError

PLAIN = (type(None), bool, int, float, str)
Arguments = list[tuple[tuple[Any, ...], dict[str, Any]]]


class UntraceableError(Exception):
    """A forward that a graph cannot stand for, and why."""


class ActivationCall(NamedTuple):
    """A call of an activation in a graph: its last and first node's place, and what it computes."""

    result: int
    entry: int
    label: str
    kind: type[nn.Module] | None
    target: str | None
    compute: Callable[..., Any] | None
    in_place: bool = False
    why_left: str | None = None


class _Tracer(fx.Tracer):
    """Records a module's own forward, the modules inside it as calls, and nothing that it loses."""

    def __init__(self, fixed: dict[str, Any]) -> None:
        super().__init__()
        self.proxy_buffer_attributes = True
        self.fixed = fixed
        self.modes = _modes()

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return True

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
        return super().create_node(*args, **kwargs)


def _modes() -> tuple[bool, ...]:
    autocast = [torch.is_autocast_enabled(device) for device in ("cpu", "cuda")]
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *autocast


def _signature(forward: Any) -> inspect.Signature:
    """The arguments after `self`."""
    signature = inspect.signature(forward)
    return signature.replace(parameters=[*signature.parameters.values()][1:])


def _fixed(module: nn.Module, arguments: Arguments) -> dict[str, Any]:
    """The arguments that are no tensors in any call: constants of the graph."""
    signature = _signature(type(module).forward)
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD and (
            parameter.kind is not parameter.KEYWORD_ONLY
        ):
            raise UntraceableError(f"its forward takes {parameter}")
    constants: list[dict[str, Any]] = []
    for args, kwargs in arguments:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        constants.append({n: v for n, v in bound.arguments.items() if not [*tensors(v)]})
    for name, value in constants[0].items():
        if not isinstance(value, PLAIN):
            raise UntraceableError(f"its argument {name} is a {type(value).__name__}")
    if any(other != constants[0] for other in constants):
        raise UntraceableError("it is called with different arguments in one pass")
    return constants[0]


def traced(module: nn.Module, fixed: dict[str, Any]) -> fx.Graph:
    """A module's own forward as a graph, with these arguments constant."""
    before, state = dict(vars(module)), (random.getstate(), torch.get_rng_state())
    tracer = _Tracer(fixed)
    try:
        graph = tracer.trace(module)
    except UntraceableError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()).split(". ")[0] or type(error).__name__
        raise UntraceableError(reason[:120]) from error
    finally:
        changed = {name for name, value in vars(module).items() if before.get(name) is not value}
        vars(module).clear()
        vars(module).update(before)
        drawn = random.getstate() != state[0] or not torch.equal(torch.get_rng_state(), state[1])
        random.setstate(state[0])
        torch.set_rng_state(state[1])
    if drawn:
        raise UntraceableError("its forward draws random numbers of its own")
    if changed := {name for name in changed if not name.startswith("_tensor_constant")}:
        raise UntraceableError(f"its forward sets {min(changed)}")
    for node in graph.nodes:
        node.type = None
        if node.op == "get_attr" and not _holds(module, node.target):
            raise UntraceableError("its forward makes tensors that a graph would hold constant")
    return graph


def _holds(module: nn.Module, target: str) -> bool:
    names = (*dict(module.named_parameters(remove_duplicate=False)),)
    return target in names or target in dict(module.named_buffers(remove_duplicate=False))


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
        modes = [(part, part.training) for part in module.modules()]
        try:
            self.graphs = [traced(module.train(mode), self.fixed) for mode in (True, False)]
        finally:
            for part, training in modes:
                part.training = training
        if str(self.graphs[0]) == str(self.graphs[1]):
            self.graphs.pop()
        found = [[*_calls(graph, repeated)] for graph in self.graphs]
        self.calls = [*zip(*found, strict=False)]
        if len({tuple((call.label, call.target) for call in calls) for calls in found}) > 1:
            raise UntraceableError("it calls other activations in training than in evaluation")

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
            source = _source(sources, _signature(self.kind.forward), self.fixed)
            used = set(re.findall(r"\w+", source))
            kept = tuple((n, _portable(v)) for n, v in sorted(names.items()) if n in used)
            kind: Any = self.kind  # the type checker has no hash for classes of modules
            self.module.__class__ = subclass(kind, source, kept)


def _calls(graph: fx.Graph, repeated: dict[str, bool]) -> Iterator[ActivationCall]:
    """Calls of activations as functions, and of the modules that are called repeatedly.

    Those come by their path, with whether they work in place.
    """
    nodes = {node: place for place, node in enumerate(graph.nodes)}
    gates: set[fx.Node] = set()
    for node in reversed(nodes):
        if (chain := _self_gate(node)) is not None:
            gates.update(chain)
    for node, place in nodes.items():
        if node in gates:
            continue
        if (chain := _self_gate(node)) is not None:
            compute = partial(_gated, [(n.op, n.target, n.args[1:], n.kwargs) for n in chain])
            label = "x·" + "·".join(str(getattr(n.target, "__name__", n.target)) for n in chain)
            yield ActivationCall(place, nodes[chain[0]], label, nn.SiLU, None, compute)
        elif node.op == "call_module" and node.target in repeated:
            target = str(node.target)
            yield ActivationCall(place, place, target, None, target, None, repeated[target])
        elif (kind := _kind(node)) is not None:
            yield _function_call(node, place, kind)


def _kind(node: fx.Node) -> type[nn.Module] | None:
    if node.op == "call_function":
        return FUNCTIONS.get(node.target)  # type: ignore[arg-type]
    return METHODS.get(str(node.target)) if node.op == "call_method" else None


def _function_call(node: fx.Node, place: int, kind: type[nn.Module]) -> ActivationCall:
    name = node.target if isinstance(node.target, str) else node.target.__name__
    given = node.args[0] if node.args else node.kwargs.get("input")
    rest = {k: v for k, v in node.kwargs.items() if k != "input"}
    why = None
    if not isinstance(given, fx.Node) or len(node.all_input_nodes) != 1:
        why = "its other arguments are computed in the model"
    elif kind in (nn.ReLU6, nn.Hardtanh) and _is_moved(given):
        why = "part of a hard sigmoid: its input is moved"
    in_place = name.endswith("_") or rest.get("inplace") is True or True in node.args[1:]
    target = getattr(Tensor, name) if node.op == "call_method" else node.target
    compute = partial(_called, target, node.args[1:], rest)
    label = f"x.{name}" if node.op == "call_method" else f"{_home(target)}.{name}"
    return ActivationCall(place, place, label, kind, None, compute, in_place, why)


def _is_moved(node: fx.Node) -> bool:
    """Is it a sum with a number?"""
    added = node.target in (operator.add, torch.add, "add")
    return added and any(isinstance(part, int | float) for part in node.args)


def _home(function: Any) -> str:
    return "F" if getattr(torch.nn.functional, function.__name__, None) is function else "torch"


def _called(function: Any, rest: tuple[Any, ...], named: dict[str, Any], x: Tensor) -> Any:
    return function(x, *rest, **named)


def _self_gate(node: fx.Node) -> list[fx.Node] | None:
    """The steps s of a product x·s(x) that ends in a sigmoid or tanh: swish, mish and their kin."""
    if node.target not in (operator.mul, torch.mul, "mul") or len(node.args) != 2:
        return None
    for gate, x in (node.args, node.args[::-1]):
        if not isinstance(gate, fx.Node) or _kind(gate) not in SQUASHING:
            continue
        chain: list[fx.Node] = []
        step: Any = gate
        while isinstance(step, fx.Node) and step is not x and len(step.users) == 1:
            chain.insert(0, step)
            inputs = step.all_input_nodes
            if len(inputs) != 1 or step.op not in ("call_function", "call_method"):
                break
            if not step.args or step.args[0] is not inputs[0]:
                if len(step.args) != 2 or step.target not in (operator.mul, torch.mul):
                    break
                step.args = step.args[::-1]  # 1.702 * x, with x first
            step = inputs[0]
        if step is x and chain:
            return chain
    return None


def _gated(steps: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]], x: Tensor) -> Tensor:
    gate = x
    for op, target, rest, named in steps:
        function = getattr(Tensor, target) if op == "call_method" else target
        gate = function(gate, *rest, **named)
    return x * gate


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


_HEAD = re.compile(r"def forward\(")


def _source(sources: list[str], signature: inspect.Signature, fixed: dict[str, Any]) -> str:
    """The graphs as functions, and a forward with the signature that the module has had."""
    text = "".join(_HEAD.sub(f"def _graph{i}(", source) for i, source in enumerate(sources))
    arguments = ["self"]
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        if parameter.default is parameter.empty:
            arguments.append(parameter.name)
        elif isinstance(parameter.default, PLAIN):
            arguments.append(f"{parameter.name}={parameter.default!r}")
        else:
            raise UntraceableError(
                f"its argument {parameter.name} has a default that is no plain value"
            )
    text += f"\ndef forward({', '.join(arguments)}):\n"
    for name, value in fixed.items():
        text += (
            f"    if {name} is not {value!r}:\n"
            if value is None
            else (f"    if {name} != {value!r}:\n")
        )
        text += f"        refuse({name!r}, {value!r})\n"
    given = ", ".join(["self", *(name for name in signature.parameters if name not in fixed)])
    text += f"    return _graph0({given})"
    if len(sources) > 1:
        text += f" if self.training else _graph1({given})"
    return text + "\n"


def refuse(name: str, value: object) -> None:
    raise PangaeaError(
        f"this module's activations were replaced for calls with {name}={value!r}; pass an example "
        "with the other value to replace_activations"
    )


class _Module(NamedTuple):
    """A module of Python's by its name, for modules cannot be pickled."""

    name: str


def _portable(value: Any) -> Any:
    return _Module(value.__name__) if isinstance(value, ModuleType) else value


Names = tuple[tuple[str, Any], ...]


def _remade(kind: Any, versions: tuple[tuple[str, Names], ...]) -> nn.Module:
    for source, names in versions:
        kind = subclass(kind, source, names)
    return kind.__new__(kind)  # type: ignore[no-any-return]


@cache
def subclass(kind: Any, source: str, names: Names) -> type[nn.Module]:
    """`kind` with another forward, under its own name; it can be copied and pickled."""
    scope: dict[str, Any] = {"refuse": refuse}
    for name, value in names:
        scope[name] = import_module(value.name) if isinstance(value, _Module) else value
    exec(compile(source, f"<{kind.__name__} retraced>", "exec"), scope)
    forward = scope["forward"]
    forward.__doc__, forward.__annotations__ = kind.forward.__doc__, kind.forward.__annotations__
    first, versions = getattr(kind, "_retraced", (kind, ()))

    def reduced(self: nn.Module, protocol: Any) -> Any:
        _, _, *state = tuple(nn.Module.__reduce_ex__(self, protocol))
        return _remade, self._retraced, *state

    body = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__reduce_ex__": reduced,
        "_retraced": (first, (*versions, (source, names))),
        "forward": forward,
    }
    return type(kind.__name__, (kind,), body)
