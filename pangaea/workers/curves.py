"""What a run was like, on its way into the study."""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any


class Curves(Mapping[str, Any]):
    """The curves of a run as JSON, which a study keeps as it is: read when somebody looks."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _content(self) -> dict[str, Any]:
        return json.loads(self.text)  # type: ignore[no-any-return]

    def __getitem__(self, name: str) -> Any:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)
