"""Drivers and workers killed at random instants: nothing is lost, nothing is there twice."""

import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from pangaea.study.stages import BEST, PROPOSED, STAGES, TESTED
from pangaea.study.study import Study
from tests.study.driving import Driver, Drivers, until
from tests.study.fixtures import ByHand

NAP = 0.01
SMALL = {"population": 5, "sample": 3, "runs": 2, "strategy": "promoting"}

Run = dict[str, Any]

pytestmark = pytest.mark.usefixtures("promoting")


def runs(path: Path) -> dict[int, Run]:
    """Every run that has a result, by the order of these."""
    if not path.exists():
        return {}
    with Study.open(path) as study:
        return {run["position"]: run for run in study.runs()}


def complete(path: Path, candidates: int) -> None:
    """Exactly C results of proposed runs, at several budgets; the other stages are whole too."""
    with Study.open(path) as study:
        rows, ended, trials = study.table(), study.runs(), study.trials()
        tested = {study.baseline, *(row["function"] for row in study.best(TESTED))}
        assert study.pending([*STAGES]) == []
    counts = {stage: sum(run["stage"] == stage for run in ended) for stage in STAGES}
    proposed = [run for run in ended if run["stage"] in PROPOSED]
    assert len(proposed) == sum(len(trial.runs) for trial in trials) == candidates
    assert len(rows) == counts["search"] == candidates - counts["promotion"]
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    assert counts["promotion"] > 0
    assert len({run["budget"] for run in proposed}) > 2
    assert counts["baseline"] >= 3
    assert (counts["rerank"], counts["test"]) == (BEST * 2, len(tested) * 2)
    for name in ("run", "seed", "position"):
        assert len({run[name] for run in ended}) == len(ended)
    assert not path.with_name(path.name + ".checkpoints").exists()


class Campaign:
    """Studies one after another, each as far as it takes for so many kills."""

    def __init__(
        self, drivers: Drivers, folder: Path, candidates: int, how: Mapping[str, Any]
    ) -> None:
        self.drivers, self.folder, self.candidates, self.how = drivers, folder, candidates, how
        self.count = 0
        self._next_study()

    def _next_study(self) -> None:
        self.count += 1
        self.path = self.folder / f"{self.count}.study"
        self.known: dict[int, Run] = {}

    def start(self) -> Driver:
        given = SMALL | {"candidates": self.candidates}
        return self.drivers.start(self.path, "napping_and_failing", NAP, **given, **self.how)

    def check(self) -> None:
        """Whatever was ever seen is still there, unchanged."""
        now = runs(self.path)
        assert {position: now.get(position) for position in self.known} == self.known
        self.known = now

    def goes_on(self, driver: Driver) -> None:
        """The driver gets on with it."""
        before = len(self.known)
        until(lambda: not driver.alive or len(runs(self.path)) > before)

    def ended(self, driver: Driver) -> bool:
        if driver.alive:
            return False
        assert driver.end() == "done"
        self.check()
        complete(self.path, self.candidates)
        self._next_study()
        return True

    def finish(self) -> None:
        driver = self.start()
        self.goes_on(driver)
        until(lambda: self.ended(driver), patience=120)


def workers_of(driver: Driver) -> list[psutil.Process]:
    """All its processes but multiprocessing's: dask gives its own other names with setproctitle."""
    try:
        return [
            process
            for process in psutil.Process(driver.pid).children()
            if "resource_tracker" not in " ".join(process.cmdline())
        ]
    except psutil.NoSuchProcess:  # one of them ended in this very moment
        return []


def kill_drivers(campaign: Campaign, kills: int, span: float) -> None:
    rng = random.Random(0)
    while kills:
        driver = campaign.start()
        time.sleep(rng.uniform(0, span))
        if campaign.ended(driver):
            continue
        campaign.check()  # up to the last moment
        workers = workers_of(driver)
        driver.kill()
        kills -= 1
        gone, left = psutil.wait_procs(workers, timeout=10)
        assert (len(gone), left) == (len(workers), [])
        campaign.check()
    campaign.finish()


def kill_workers(campaign: Campaign, kills: int, span: float) -> None:
    rng, driver = random.Random(0), campaign.start()
    while kills:
        time.sleep(rng.uniform(0, span))
        if campaign.ended(driver):
            driver = campaign.start()
        campaign.check()
        workers = workers_of(driver)
        if workers and campaign.path.exists():  # they have all been started
            rng.choice(workers).kill()
            kills -= 1
    until(lambda: campaign.ended(driver), patience=300)


def test_a_few_drivers_killed(drivers: Drivers, tmp_path: Path) -> None:
    kill_drivers(Campaign(drivers, tmp_path, 30, {"workers": 0}), kills=8, span=0.5)


def test_a_few_drivers_with_workers_killed(drivers: Drivers, tmp_path: Path) -> None:
    kill_drivers(Campaign(drivers, tmp_path, 60, {"workers": 2}), kills=2, span=2.5)


def test_a_few_workers_killed(drivers: Drivers, tmp_path: Path) -> None:
    kill_workers(Campaign(drivers, tmp_path, 150, {"workers": 2}), kills=3, span=0.5)


@pytest.mark.slow
def test_a_hundred_drivers_killed(drivers: Drivers, tmp_path: Path) -> None:
    kill_drivers(Campaign(drivers, tmp_path, 100, {"workers": 0}), kills=100, span=1.0)


@pytest.mark.slow
def test_a_hundred_drivers_with_workers_killed(drivers: Drivers, tmp_path: Path) -> None:
    kill_drivers(Campaign(drivers, tmp_path, 200, {"workers": 2}), kills=100, span=3.0)


@pytest.mark.slow
def test_a_hundred_drivers_killed_on_a_cluster_that_lives_on(
    drivers: Drivers, tmp_path: Path, by_hand: ByHand
) -> None:
    how = {"cluster": by_hand.address}
    kill_drivers(Campaign(drivers, tmp_path, 200, how), kills=100, span=1.5)


@pytest.mark.slow
def test_three_hundred_workers_killed(drivers: Drivers, tmp_path: Path) -> None:
    kill_workers(Campaign(drivers, tmp_path, 1000, {"workers": 3}), kills=300, span=1.0)
