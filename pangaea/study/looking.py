"""A look at each candidate early in its training: what is behind the others goes no further."""

from bisect import insort
from dataclasses import replace

from pangaea.study.stages import SEARCH
from pangaea.study.study import Study
from pangaea.training.how import How
from pangaea.workers.judge import Result

# Of 327 candidates of WRN-10-4 (15 epochs) none of the best 32 was below the median of those
# before it after 2; of 190 of the default task (20) none of the best 19 after 3
# (results/early-looks.json).
_WHEN = 0.15  # of the training
_FEWEST = 20  # candidates that are trained to their end before any is stopped


class Looking:
    """What all candidates scored so early, and what another must score to go on."""

    def __init__(self, study: Study, part: float, budget: int) -> None:
        """The worst `part` of the candidates is stopped."""
        self._part, self._epoch = part, max(1, round(_WHEN * budget))
        self._scores: list[float] = []
        for run in study.runs(SEARCH.name):
            self.note({"curves": study.curves(run["run"])})

    def note(self, result: Result) -> None:
        """A candidate has its result."""
        curve = result.get("curves", {}).get("validation")
        if isinstance(curve, dict):  # by the text of the epoch, where it was in a file
            score = curve.get(self._epoch, curve.get(str(self._epoch)))
            if isinstance(score, int | float):
                insort(self._scores, score)

    def way(self, how: How) -> How:
        """How the next candidate is trained."""
        count = len(self._scores)
        least = self._scores[int(self._part * count)] if count >= _FEWEST else None
        return replace(how, look=self._epoch, least=least)
