"""Where activations stand in a model, and how something else is put in their place."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from pangaea.activation.observation import Probe
from pangaea.activation.recognition import (
    LEFT,
    function_kind,
    function_name,
    is_activation,
    is_squashing,
)
from pangaea.activation.retracing import Retraced
from pangaea.activation.selection import Selection
from pangaea.activation.surgery_report import Left

_HOOKS = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_is_full_backward_hook",
)


@dataclass(eq=False)
class Site:
    """One activation: the module that holds it, under which name, and what has stood there.

    `kind` is the module that `which` is asked about: for a function call its like in `torch.nn`.
    A call in a retraced forward has its number there; `target` is its path from the one retraced,
    and calls of the same module have its path as their `origin`.
    """

    path: str
    home: nn.Module
    name: str
    before: nn.Module | Callable[..., Any] | None
    kind: nn.Module
    label: str
    compute: Callable[..., Any]
    origin: str = ""
    retraced: Retraced | None = None
    number: int = 0
    target: str = ""
    note: str = ""
    why_left: str = ""

    def __post_init__(self) -> None:
        self.probe = Probe(self.compute, is_squashing(self.kind))
        self.origin = self.origin or self.path

    @property
    def names(self) -> set[str]:
        return {self.path, self.origin}

    def put(self, module: nn.Module) -> None:
        """Let `module` do the activation's work, in the mode and with the hooks of the old one."""
        vars(self.home).pop(self.name, None)
        self.home._modules[self.name] = module
        if isinstance(self.home, nn.TransformerDecoderLayer):
            # A copy of torch's would take F.relu for the activation that is no attribute as well.
            vars(self.home)[self.name] = module
        old = self.compute
        module.train(old.training if isinstance(old, nn.Module) else self.home.training)
        if isinstance(old, nn.Module) and not isinstance(
            module, Probe
        ):  # a probe calls the old one
            for hooks in _HOOKS:
                # The same dictionary: a handle that the user holds still removes its hook.
                vars(module)[hooks] = vars(old)[hooks]

    def restore(self) -> None:
        vars(self.home).pop(self.name, None)
        if isinstance(self.before, nn.Module):
            self.home._modules[self.name] = self.before
            return
        self.home._modules.pop(self.name, None)
        if self.before is not None:
            vars(self.home)[self.name] = self.before


def held_sites(model: nn.Module, selection: Selection) -> tuple[list[Site], list[Left]]:
    """Activations that modules hold, as modules or as functions; and kin that is left alone."""
    sites: list[Site] = []
    left: list[Left] = []
    inside: set[nn.Module] = set()
    for prefix, home in model.named_modules():
        if home in inside or is_activation(home) or isinstance(home, torch.jit.ScriptModule):
            inside.update(home.children())
            continue
        for name, module in home._modules.items():
            if module is None:
                continue
            path = _joined(prefix, name)
            if is_activation(module) or selection.adds(path, module):
                label = type(module).__name__
                sites.append(Site(path, home, name, module, module, label, module))
            elif why := next((LEFT[kind] for kind in LEFT if isinstance(module, kind)), None):
                left.append(Left(path, type(module).__name__, why))
        sites += _functions_of(home, prefix)
    return sites, left


def _functions_of(home: nn.Module, prefix: str) -> Iterator[Site]:
    """Attributes such as `self.act = F.gelu`."""
    for name, value in [*vars(home).items()]:
        if (kind := function_kind(value)) is not None:
            label = f"{name} = {function_name(value)}"
            yield Site(_joined(prefix, name), home, name, value, kind(), label, value)


def called_sites(path: str, retraced: Retraced, held: dict[str, Site]) -> list[Site]:
    """The calls of activations in a retraced forward; repeated ones have their module's site."""
    owner = retraced.module
    sites: list[Site] = []
    counts: dict[str, int] = {}
    for number, calls in enumerate(retraced.calls):
        call = calls[0]
        if call.target is not None:
            old = held[call.target]
            counts[call.target] = count = counts.get(call.target, 0) + 1
            first = count == 1
            name = old.name if first else _free(owner, call.target.replace(".", "_"), sites)
            site = Site(
                old.path if first else _joined(path, name),
                old.home if first else owner,
                name,
                old.before if first else None,
                old.kind,
                f"{old.label}, call {count}",
                old.compute,
                old.path,
                retraced,
                number,
                call.target if first else name,
            )
        else:
            assert call.kind is not None
            assert call.compute is not None
            name = _free(owner, _plain_name(call.label), sites)
            site = Site(
                _joined(path, name),
                owner,
                name,
                None,
                call.kind(),
                call.label,
                call.compute,
                "",
                retraced,
                number,
                name,
                why_left=call.why_left or "",
            )
        sites.append(site)
    return sites


def _plain_name(label: str) -> str:
    """`F.relu` as relu, `x·sigmoid` as sigmoid."""
    return label.split("·")[-1].split(".")[-1].rstrip("_")


def _free(owner: nn.Module, name: str, sites: list[Site]) -> str:
    """A name that is no attribute of the module yet: relu, relu_2, relu_3, …"""
    taken = {site.name for site in sites}
    number, free = 1, name
    while free in taken or hasattr(owner, free):
        number += 1
        free = f"{name}_{number}"
    return free


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def arrange(sites: list[Site], modules: Mapping[Site, nn.Module]) -> None:
    """Put these modules in their places, and into all others what has stood there."""
    for site in sites:
        if site not in modules:
            site.restore()
    for site, module in modules.items():
        site.put(module)
    for retraced in {site.retraced for site in sites if site.retraced is not None}:
        live = {site.number: site.target for site in modules if site.retraced is retraced}
        retraced.install(live)
