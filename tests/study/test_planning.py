"""A search that ends in time: what fits, by a clock that no test waits for."""

import pytest

from pangaea.study.planning import Ending, Pace, Plan, Rounds, Schedule, plan, took
from pangaea.study.settings import flat

ENDING = Ending(rounds=[Rounds(10, 2, 40)], budget=40, tested=3, beside=1, runs=10)
PACE = Pace(candidate=2.0, unit=0.1, workers=2)  # 4.4 s for a run of the full budget


class Clock:
    """Shows what it is told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_runs_take_as_many_rounds_as_there_are_for_each_worker() -> None:
    assert took(4, 40, PACE) == pytest.approx(2 * 4.4)
    assert took(5, 40, PACE) == pytest.approx(3 * 4.4)
    assert took(0, 40, PACE) == 0


def test_with_time_for_all_of_it_candidates_get_what_the_rest_leaves() -> None:
    planned = plan(ENDING, PACE, left=1000.0, total=1000.0)
    assert planned[1:] == (10, 3, 10, pytest.approx(30 * 4.4))
    assert planned.candidates == int((1000 - 30 * 4.4) / 2.0 * 2)


def test_more_workers_try_more_candidates() -> None:
    few, many = (plan(ENDING, PACE._replace(workers=n), 600, 600) for n in (2, 16))
    assert many.candidates > 8 * few.candidates


def test_test_runs_are_fewer_where_half_of_the_time_does_not_hold_them_and_the_rounds() -> None:
    planned = plan(ENDING, PACE, left=200.0, total=200.0)
    assert planned.contenders == 10
    assert planned.runs == 6  # 12 times two at once, 53 s, beside 44 s for the best again
    assert planned.seconds <= 100


def test_what_the_test_does_not_need_of_its_quarter_the_rounds_may_have() -> None:
    untested = ENDING._replace(runs=0)
    assert plan(untested, PACE, left=100.0, total=100.0).contenders == 10  # 44 s of 100
    assert plan(untested, PACE, left=80.0, total=80.0).contenders == 9
    tested = untested._replace(runs=1)  # 8.8 s
    assert plan(tested, PACE, left=110.0, total=110.0).contenders == 10
    assert plan(tested, PACE, left=100.0, total=100.0).contenders == 9


def test_fewer_are_trained_again_where_that_takes_more_than_a_quarter() -> None:
    planned = plan(ENDING, PACE, left=100.0, total=100.0)
    assert (planned.contenders, planned.runs) == (5, 3)  # 22 of 25 s, 26 of the other 28
    assert planned.candidates == int(100 - planned.seconds)
    assert plan(ENDING, PACE, left=30.0, total=30.0).contenders == 0  # not even two


def test_all_rounds_become_smaller_alike() -> None:
    rounds = ENDING._replace(rounds=[Rounds(16, 1, 40), Rounds(8, 1, 40), Rounds(4, 4, 40)])
    whole, part = (plan(rounds, PACE, left=s, total=s) for s in (400.0, 200.0))
    assert (whole.contenders, part.contenders) == (16, 8)
    assert whole.seconds == pytest.approx((8 + 4 + 8) * 4.4 + 20 * 4.4)
    assert part.seconds == pytest.approx((4 + 2 + 4) * 4.4 + 12 * 4.4)
    assert part.candidates == int(200 - part.seconds)
    settings = flat({"rounds": "16@20,8,4,2"})
    assert settings.smaller_rounds(16) == settings.rounds
    assert settings.smaller_rounds(9) == "9@20,5,3,2"
    assert settings.smaller_rounds(2) == "2@20,1,1,1"


def test_what_nobody_asked_for_takes_no_time() -> None:
    nothing = Ending(rounds=[], budget=40, tested=3, beside=1, runs=0)
    planned = plan(nothing, PACE, left=100.0, total=100.0)
    assert planned == Plan(100, 0, 3, 0, 0.0)


def test_the_first_is_tested_alone_before_each_of_them_has_a_single_run() -> None:
    unranked = ENDING._replace(rounds=[])
    for total, tested, runs in (
        (36.0, 3, 2),
        (34.0, 1, 3),
        (26.0, 1, 2),
        (17.0, 1, 1),
        (8.0, 3, 0),
    ):
        planned = plan(unranked, PACE, left=total, total=total)
        assert (planned.tested, planned.runs) == (tested, runs)
    once = unranked._replace(runs=1)
    assert plan(once, PACE, left=26.0, total=26.0).tested == 3  # one run was asked for


def test_no_candidate_fits_when_the_time_is_over() -> None:
    assert plan(ENDING, PACE, left=-5.0, total=1000.0).candidates == 0


def schedule(clock: Clock, minutes: float = 10, **given: float) -> Schedule:
    return Schedule(minutes, ENDING, budget=20, clock=clock, **given)


def test_time_before_an_interruption_counts_and_the_pause_does_not() -> None:
    clock = Clock()
    first = schedule(clock)
    clock.now += 200
    assert (first.spent, first.left) == (200, 400)
    clock.now += 10_000  # nobody runs it
    second = schedule(clock, spent=first.spent - 10_000)
    clock.now += 50
    assert (second.spent, second.left) == (250, 350)


def test_time_to_close_is_kept_but_not_as_much_as_a_download_took() -> None:
    clock = Clock()
    assert schedule(clock, closing=15).left == 600 - 15
    assert schedule(clock, closing=5000).left == 600 - 90


def test_the_pace_is_the_baselines_until_candidates_have_ended() -> None:
    timed = schedule(Clock())
    timed.ended(20, 9.0, failed=False, first=True, proposed=False)  # it loaded the data, too
    timed.ended(20, 2.0, failed=False, first=True, proposed=False)
    assert timed.pace(2) == (pytest.approx(2.8), pytest.approx(0.14), 2, 1)  # it is a cheap one
    timed.ended(20, 5.0, failed=False, proposed=True)
    timed.ended(20, 1.0, failed=True, proposed=True)  # early: it says nothing of a whole run
    assert timed.pace(2) == (pytest.approx(3.0), pytest.approx(0.25), 2, 1)


def test_the_pace_follows_a_machine_that_becomes_slow() -> None:
    timed = schedule(Clock())
    for seconds in [2.0] * 100 + [6.0] * 30:
        timed.ended(20, seconds, failed=False, proposed=True)
    before = schedule(Clock())
    before.ended(20, 2.0, failed=False, proposed=True)
    assert timed.pace(2).candidate == pytest.approx(6.0)
    assert timed.plan(2).candidates < before.plan(2).candidates / 3


def test_runs_of_the_ending_say_how_long_it_takes_and_not_what_a_candidate_does() -> None:
    timed = schedule(Clock())
    timed.ended(20, 2.0, failed=False, proposed=True)
    timed.ended(40, 20.0, failed=False, proposed=False)
    assert timed.pace(2) == (pytest.approx(2.0), pytest.approx(0.3), 2, 1)


def test_a_few_slow_runs_are_a_warning_and_a_few_fast_ones_are_none() -> None:
    for last, unit in ((6.0, 0.3), (0.5, (26 * 2.0 + 4 * 0.5) / 30 / 20)):
        timed = schedule(Clock())
        for seconds in [2.0] * 26 + [last] * 4:
            timed.ended(20, seconds, failed=False, proposed=True)
        assert timed.pace(2).unit == pytest.approx(unit)


def test_a_run_fits_if_it_ends_in_time_with_what_must_follow() -> None:
    clock = Clock()
    timed = schedule(clock)
    timed.ended(20, 20.0, failed=False, proposed=True)
    clock.now += 500
    assert timed.fits(1, 40, 2)  # 44 s
    assert timed.fits(2, 40, 2, reserve=55)
    assert not timed.fits(2, 40, 2, reserve=60)
    assert not timed.fits(1, 200, 2)


def test_beside_few_others_on_a_gpu_a_run_takes_less() -> None:
    shared = PACE._replace(workers=4, sharing=4)
    alone, two, four = (took(runs, 40, shared) for runs in (1, 2, 4))
    assert four == took(4, 40, PACE._replace(workers=4)) == pytest.approx(4.4)
    assert two / alone == pytest.approx(2.5 / 1.5)
    assert four / alone == pytest.approx(3.0)
    assert took(6, 40, shared) == pytest.approx(four + two)
    on_two = PACE._replace(workers=8, sharing=4)  # GPUs
    assert took(2, 40, on_two) == pytest.approx(alone)
    assert took(3, 40, on_two) == pytest.approx(two)


def test_a_late_run_fits_where_it_has_a_gpu_for_itself() -> None:
    clock = Clock()
    timed = schedule(clock, sharing=4)
    timed.ended(20, 20.0, failed=False, proposed=True)
    clock.now += 580  # a run of the full budget takes 44 s beside three, a third of it alone
    assert timed.fits(1, 40, 4)
    assert not timed.fits(4, 40, 4)


def test_before_anything_has_ended_the_first_runs_may_begin() -> None:
    assert schedule(Clock()).fits(1, 20, 0)
