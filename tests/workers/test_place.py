"""Where runs happen if nobody says: on GPUs where there are any and the task gains by them."""

from typing import Any

import pytest

import pangaea as pg
from pangaea.workers.place import Place

CIFAR, SMALL = pg.task("wrn-10-4/cifar100"), pg.task("charlm")


@pytest.mark.parametrize("gpus", [True, False])
def test_a_task_that_gains_by_gpus_gets_those_there_are(
    monkeypatch: pytest.MonkeyPatch, gpus: bool
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpus)
    assert Place().suited(CIFAR) == (Place(gpus="all") if gpus else Place())
    assert Place().suited(SMALL) == Place()
    assert Place(jobs_per_gpu=2).suited(CIFAR).jobs_per_gpu == 2


@pytest.mark.parametrize("given", [{"workers": 0}, {"gpus": "1"}, {"cluster": "slurm"}])
def test_what_was_said_stays(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert Place(**given).suited(CIFAR) == Place(**given)
