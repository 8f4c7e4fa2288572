"""Contract tests for a task, a strategy or an engine of one's own, to be subclassed.

What a search relies on is written as pytest classes, and our own tasks, strategies and engines
pass the same ones:

    class TestMine(TaskContract):
        @pytest.fixture
        def task(self):
            return pg.task("my_task.py:task")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pangaea.errors import PangaeaError

if TYPE_CHECKING:
    from pangaea.testing.engines import EngineContract as EngineContract
    from pangaea.testing.strategies import StrategyContract as StrategyContract
    from pangaea.testing.tasks import TaskContract as TaskContract

_HOME = {
    "EngineContract": "engines",
    "StrategyContract": "strategies",
    "TaskContract": "tasks",
}

__all__ = [*_HOME]


# Workers import the judges of this folder, and should not wait for torch and pytest.
def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import pytest
    except ImportError:
        raise PangaeaError("contract tests need pytest: pip install pytest") from None
    home = f"{__name__}.{_HOME[name]}"
    pytest.register_assert_rewrite(home)  # or a failed assertion would not say what it compared
    return getattr(import_module(home), name)
