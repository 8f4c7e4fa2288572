"""Calls of activations in the graph of a forward."""

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn

from pangaea.activation.recognition import FUNCTIONS, METHODS, SQUASHING


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


def activation_calls(graph: fx.Graph, repeated: dict[str, bool]) -> Iterator[ActivationCall]:
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
    flags = [*node.args[1:], rest.get("inplace")]
    in_place = name.endswith("_") or any(flag is True for flag in flags)
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
