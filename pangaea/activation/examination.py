"""The activations of a model as passes with an example show them, the model itself unchanged."""

from collections import Counter

from torch import Tensor, nn

from pangaea.activation.example import Example, equal
from pangaea.activation.observation import Observation
from pangaea.activation.recognition import LEFT
from pangaea.activation.retracing import Retraced, UntraceableError
from pangaea.activation.sites import Site, arrange, called_sites
from pangaea.activation.surgery_report import Left
from pangaea.errors import PangaeaError


class Examination:
    """Sites with what their probes have seen, calls in retraced forwards among them.

    Probes stand in the model until somebody arranges its sites otherwise.
    """

    def __init__(
        self,
        sites: list[Site],
        example: Example,
        references: dict[bool, list[Tensor]],
        separate: bool,
    ) -> None:
        self.sites, self.example = sites, example
        self.left: list[Left] = []
        self.notes: list[str] = []
        self._references = references  # the outputs of the model as it is
        self._paths = {module: path for path, module in example.model.named_modules()}
        self._originals: dict[Retraced, list[Site]] = {}
        try:
            self._retrace(separate)
            self._settle()
        except BaseException:
            arrange(self.sites, {})
            raise

    def _observe(self, sites: list[Site]) -> tuple[bool, list[Observation]]:
        """A pass in each mode with these sites watched: are the outputs the same bit for bit?"""
        probes = {site: site.probe for site in sites if not site.why_left}
        arrange(self.sites, probes)
        observations = []
        same = True
        for probe in probes.values():
            probe.forget()
        for training, reference in self._references.items():
            observation = Observation(self.example.model, [*probes.values()])
            try:
                outputs = self.example.outputs(training, observation)
            except Exception:  # a graph that the model's own values do not go through
                outputs = []
            same = same and equal(reference, outputs)
            observations.append(observation)
        return same, observations

    def _retrace(self, separate: bool) -> None:
        """Retrace each forward that calls activations as functions, or one of them repeatedly."""
        _, observations = self._observe(self.sites)
        functional: dict[nn.Module, set[str]] = {}
        for observation in observations:
            for owner, names in observation.functional.items():
                functional.setdefault(owner, set()).update(names)
        for owner in dict.fromkeys(owner for o in observations for owner in o.halving):
            self.left.append(Left(self._paths.get(owner, "") or "the model", "glu", LEFT[nn.GLU]))
        repeated = _repeated(self.sites) if separate else {}
        for owner in {**functional, **repeated}:
            path = self._paths.get(owner, "")
            held = {_path_within(owner, site): site for site in repeated.get(owner, [])}
            in_place = {t: bool(getattr(s.kind, "inplace", False)) for t, s in held.items()}
            arguments = [pair for o in observations for pair in o.arguments.get(owner, [])]
            try:
                retraced = Retraced(owner, arguments, in_place)
            except UntraceableError as error:
                self._untraced(path, functional.get(owner, set()), [*held.values()], str(error))
                continue
            self._originals[retraced] = [*held.values()]
            self.sites = [site for site in self.sites if site not in held.values()]
            self.sites += called_sites(path, retraced, held)
        order = {path: i for i, path in enumerate(self._paths.values())}
        self.sites.sort(key=lambda site: order.get(self._paths.get(site.home, ""), 0))

    def _untraced(self, path: str, functions: set[str], held: list[Site], reason: str) -> None:
        for name in sorted(functions):
            why = f"called as a function, and the forward cannot be retraced: {reason}"
            self.left.append(Left(path or "the model", name, why))
        for site in held:
            site.note = f"one for all its calls: the forward cannot be retraced: {reason}"

    def _settle(self) -> None:
        """Let go of whatever changes the model's outputs by being watched."""
        while not self._observe(self.sites)[0]:
            units: dict[object, list[Site]] = {}
            for site in self.sites:
                if not site.why_left:
                    units.setdefault(site.retraced or site, []).append(site)
            arrange(self.sites, {})
            again = {mode: self.example.outputs(mode) for mode in self._references}
            if not all(equal(again[mode], self._references[mode]) for mode in again):
                self.notes.append("The model's outputs change by themselves: nothing was compared.")
                for unit in units.values():
                    if unit[0].retraced is not None:  # not without a comparison
                        self._drop(unit)
                self._observe(self.sites)
                return
            culprits = [unit for unit in units.values() if not self._observe(unit)[0]]
            if not culprits:
                raise PangaeaError(
                    f"{type(self.example.model).__name__} gives other outputs when its activations "
                    "are called as modules: select some of them with which=…"
                )
            for unit in culprits:
                self._drop(unit)

    def _drop(self, unit: list[Site]) -> None:
        retraced = unit[0].retraced
        if retraced is None:
            in_place = getattr(unit[0].kind, "inplace", False)
            unit[0].why_left = (
                "the model relies on its working in place"
                if in_place
                else "the model's outputs change when it is called as a module"
            )
            return
        arrange(self.sites, {})
        why = "the retraced forward gives other outputs"
        calls = [site for site in self.sites if site.retraced is retraced]
        self.sites = [site for site in self.sites if site not in calls] + self._originals[retraced]
        for site in self._originals[retraced]:
            site.note = f"one for all its calls: {why}"
        functions = [site for site in calls if not isinstance(site.compute, nn.Module)]
        self.left += [Left(site.path, site.label, site.why_left or why) for site in functions]


def _repeated(sites: list[Site]) -> dict[nn.Module, list[Site]]:
    """Sites that one call of a module calls several times, by that module."""
    result: dict[nn.Module, list[Site]] = {}
    for site in sites:
        counts = Counter((call.owner, call.within) for call in site.probe.calls)
        owners = {owner for (owner, _), count in counts.items() if owner and count > 1}
        if len(owners) == 1 and len({owner for owner, _ in counts}) == 1:
            owner = owners.pop()
            if _path_within(owner, site):
                result.setdefault(owner, []).append(site)
    return result


def _path_within(owner: nn.Module, site: Site) -> str:
    """The path from a module that runs to the site's probe, empty if there is none."""
    return next((path for path, module in owner.named_modules() if module is site.probe), "")
