"""A task file of fifteen lines: searched on, killed and resumed."""

from pathlib import Path

from tests.study.fixtures import ByHand
from tests.task_file import SEARCH, finished, killed, pangaea, written


def test_it_is_searched_on_two_cores_killed_and_resumed(tmp_path: Path) -> None:
    folder = written(tmp_path / "theirs")
    path = folder / "sine.study"
    killed(pangaea(folder, *SEARCH, "--workers", "2"), path)
    said = finished(pangaea(folder, "resume", "sine.study", "--workers", "2"), path)
    assert "GELU" in said
    assert 'pangaea.Activation("' in said


def test_it_is_searched_on_a_scheduler_started_by_hand_and_moved(
    tmp_path: Path, by_hand: ByHand
) -> None:
    before, after = written(tmp_path / "before"), tmp_path / "after"
    cluster = ("--cluster", by_hand.address)
    killed(pangaea(before, *SEARCH, *cluster), before / "sine.study")
    before.rename(after)
    lost, _ = pangaea(after, "resume", "sine.study", *cluster).communicate(timeout=120)
    assert "if it was moved, say where it is with --task" in lost
    again = pangaea(after, "resume", "sine.study", "--task", "my_task.py:task", *cluster)
    finished(again, after / "sine.study")
