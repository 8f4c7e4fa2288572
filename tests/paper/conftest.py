import pytest

from pangaea.tasks.classification import Classification


@pytest.fixture
def unprepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks whose data was asked for; none is brought here."""
    names: list[str] = []
    monkeypatch.setattr(Classification, "prepare", lambda task: names.append(task.name))
    return names
