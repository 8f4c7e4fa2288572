"""Why runs are asked for: every stage of a study is a row here."""

from typing import NamedTuple


class Stage(NamedTuple):
    name: str  # as a study records it
    budget: str  # which of the task's budgets
    part: str  # of the data that its runs are judged on
    doing: str  # what a person reads while it goes on
    proposed: bool = False  # are its runs proposed by the strategy?
    keeps: bool = False  # what training made of the function's parameters, each of them?


BASELINE = Stage("baseline", "search", "validation", "the baseline first")
SEARCH = Stage("search", "search", "validation", "searching", proposed=True)
PROMOTION = Stage("promotion", "search", "validation", "searching", proposed=True)
RERANK = Stage("rerank", "full", "validation", "training the best again", keeps=True)
TEST = Stage("test", "full", "test", "testing the best", keeps=True)
GENERAL = Stage("general", "full", "validation", "judging on every task")
EVALUATION = Stage("evaluation", "full", "test", "judging")
PAPER = Stage("paper", "full", "test", "the paper's experiments")

_ALL = (BASELINE, SEARCH, PROMOTION, RERANK, TEST, GENERAL, EVALUATION, PAPER)
STAGES = {stage.name: stage for stage in _ALL}
PROPOSED = tuple(stage.name for stage in STAGES.values() if stage.proposed)
KEEPING = tuple(stage.name for stage in STAGES.values() if stage.keeps)

BEST = 10  # functions of a study that a page tells of: the paper's top ten
TESTED = 3  # the best of these are tested
