"""What functions are judged on. Called, `pangaea.tasks()`, the room gives its names."""

import sys
from types import ModuleType


class _Room(ModuleType):
    def __call__(self) -> tuple[str, ...]:
        from pangaea.tasks.finding import tasks

        return tasks()


sys.modules[__name__].__class__ = _Room
