"""Replaces the activations of any model by a function, in place."""

from typing import Any

import torch
from torch import nn

from pangaea.activation.channels import channel_dim, lazy_channel_dim
from pangaea.activation.examination import Examination
from pangaea.activation.example import Example
from pangaea.activation.module import Activation, FunctionLike, Scope
from pangaea.activation.recognition import is_activation, is_squashing
from pangaea.activation.selection import Selection, Which
from pangaea.activation.sites import Site, arrange, held_sites
from pangaea.activation.surgery_report import Left, Replaced, SurgeryReport
from pangaea.errors import PangaeaError


def replace_activations(
    model: nn.Module,
    function: FunctionLike,
    scope: Scope | None = None,
    example: Any = None,
    which: Which | tuple[Which, ...] | list[Which] | None = None,
) -> SurgeryReport:
    """Replace the activations of `model` by `function`, in place; say what was replaced, what not.

    `example` is an input (a tensor, a tuple of arguments or a dict of named ones): passes in
    evaluation and in training find calls such as `F.relu(x)`, modules that are called several
    times, and every activation's channels. `which` selects by module class, name pattern or
    `predicate(name, module)`. Everything else in the model stays what it is.
    """
    if not isinstance(model, nn.Module):
        raise PangaeaError(f"a model is a torch.nn.Module, got {type(model).__name__}")
    if isinstance(model, nn.parallel.DistributedDataParallel) or hasattr(model, "_orig_mod"):
        raise PangaeaError(
            "replace activations before the model is compiled or wrapped for several processes"
        )
    surgery = _Surgery(Activation(function, scope), Selection(which))
    return surgery.operate(model, example)


class _Surgery:
    """One operation: what to put in, what is wanted, and what has become of it."""

    def __init__(self, template: Activation, selection: Selection) -> None:
        self.template, self.selection = template, selection
        self.replaced: list[Replaced] = []
        # Without parameters, or with one set for a layer, shapes do not matter.
        self.needs_shape = bool(template.parameter_names) and template.scope != "layer"

    def operate(self, model: nn.Module, example: Any) -> SurgeryReport:
        passes = None if example is None else Example(model, example)
        # First of all: in its first pass a model may make parts of itself.
        references = {} if passes is None else passes.references()
        sites, left = held_sites(model, self.selection)
        if passes is None:
            notes = ["Without an example, calls such as F.relu(x) are not looked for."]
            modules = {s: m for s in sites if (m := self._unseen(s)) is not None}
        else:
            separate = bool(self.template.parameter_names)
            examination = Examination(sites, passes, references, separate)
            sites, notes = examination.sites, examination.notes
            left += examination.left
            try:
                self._keep_together(sites)
                modules = {s: m for s in sites if (m := self._seen(s)) is not None}
            finally:
                arrange(sites, {})
        left += [Left(s.path, s.label, s.why_left) for s in sites if s not in modules]
        if not modules:
            raise PangaeaError(_nothing(model, left, example is None))
        arrange(sites, modules)
        _leave_fast_path(model)
        function = str(self.template.function)
        return SurgeryReport(function, tuple(self.replaced), tuple(left), tuple(notes))

    def _unseen(self, site: Site) -> Activation | None:
        """The replacement without an example: it builds itself on its first input."""
        site.why_left = self._unwanted(site)
        if not site.why_left and is_squashing(site.kind) and not self._insists(site):
            site.why_left = "pass an example to tell whether it is a gate"
        if site.why_left:
            return None
        dim = lazy_channel_dim(site.home, site.name) if self.needs_shape else 1
        if dim is None:
            raise PangaeaError(
                f"the channels of {site.path} are not known without an example: pass example=…, "
                "an input of the model, or scope='layer'"
            )
        scope = self.template.scope
        shown = dim if self.needs_shape else None
        self.replaced.append(Replaced(site.path, site.label, scope, None, shown, site.note))
        return self._activation(scope, None, dim)

    def _seen(self, site: Site) -> Activation | None:
        """The replacement by what the passes have shown."""
        site.why_left = site.why_left or self._unwanted(site) or self._not_fit(site)
        if site.why_left:
            return None
        scope, note = self.template.scope, site.note
        if site.probe.multiplied and not is_squashing(site.kind):
            note = note or "the gate of a gated unit"
        calls = site.probe.calls
        if not calls:
            self.replaced.append(Replaced(site.path, site.label, scope, None, None, "not called"))
            return self._activation(scope, None, 1)
        call = calls[0]
        dim, guess = channel_dim(call)
        if self.needs_shape and (why := self._shapeless(site, dim)):
            scope, note = "layer", f"one set of parameters: {why}; {note}".rstrip("; ")
        elif self.needs_shape:
            note = note or guess
        inside = -len(call.shape) <= dim < len(call.shape) and len(call.shape) > 1
        channels = call.shape[dim] if inside else None
        row = Replaced(site.path, site.label, scope, channels, dim if inside else None, note)
        self.replaced.append(row)
        shape = call.shape[1:] if inside else None
        dtype = torch.float64 if call.dtype == torch.float64 else torch.float32
        return self._activation(scope, shape, dim).to(call.device, dtype)

    def _activation(self, scope: Any, shape: tuple[int, ...] | None, dim: int) -> Activation:
        function = self.template.function
        return Activation(function, scope, shape if self.needs_shape else None, dim)

    def _unwanted(self, site: Site) -> str:
        return "" if self.selection.includes(site.names, site.kind) else "not selected"

    def _insists(self, site: Site) -> bool:
        return self.selection.insists(site.names, site.kind)

    def _not_fit(self, site: Site) -> str:
        """Why the passes speak against a replacement, if they do."""
        probe = site.probe
        if probe.more:
            return "it is called with more than its input, or by name"
        asked = not is_squashing(site.kind) or self._insists(site)
        if not probe.calls:
            known = asked and not self.needs_shape
            return "" if known else "not called with the example"
        if not all(call.keeps_shape for call in probe.calls):
            return "its result has another shape than its input"
        if asked:
            return ""
        if probe.multiplied:
            return "a gate: something is multiplied by it"
        if probe.is_output:
            return "the model's output"
        if not all(call.channels and call.channels.fresh for call in probe.calls):
            return "not straight after a layer: a gate or part of a formula"
        return ""

    def _shapeless(self, site: Site, dim: int) -> str:
        """Why parameters for channels or neurons are impossible here, if they are."""
        shapes = {call.shape[1:] for call in site.probe.calls}
        if any(not -len(shape) - 1 <= dim <= len(shape) or not shape for shape in shapes):
            return "its input has no batch of channels"
        if self.template.scope == "channel":
            shapes = {((0, *shape)[dim],) for shape in shapes}
        return "its calls have different shapes" if len(shapes) > 1 else ""

    def _keep_together(self, sites: list[Site]) -> None:
        """All calls of a module are replaced, or none: they share it otherwise."""
        why = {s.origin: w for s in sites if (w := s.why_left or self._not_fit(s))}
        for site in sites:
            if site.origin != site.path or site.retraced is not None:
                site.why_left = site.why_left or why.get(site.origin, "")


def _nothing(model: nn.Module, left: list[Left], unseen: bool) -> str:
    name = type(model).__name__
    if is_activation(model):
        return f"{name} is itself an activation: replace it where it is used"
    reasons = "it holds none that is known; which=… can name a class of your own"
    if left:
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        reasons = f"{left[0].path} ({left[0].before}): {left[0].why}{more}"
    hint = " Pass example=…, an input of the model, to find calls too." if unseen else ""
    return f"no activation of {name} was replaced: {reasons}.{hint}"


def _leave_fast_path(model: nn.Module) -> None:
    """Torch's fast path knows ReLU and GELU alone, and would go past the new function."""
    for module in model.modules():
        if isinstance(module, nn.TransformerEncoderLayer) and isinstance(
            module.activation, Activation
        ):
            module.activation_relu_or_gelu = 0
        if isinstance(module, nn.TransformerEncoder) and any(
            isinstance(part, Activation) for part in module.modules()
        ):
            module.use_nested_tensor = False
