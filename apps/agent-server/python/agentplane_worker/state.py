"""The newest state of the outermost graph, and what it stopped for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LastState:
    """Kept while a run streams: its last values are its result."""

    def __init__(self) -> None:
        self.values: Any = None
        self.has_values = False
        #: What the graph stopped for; None when it went on to its end.
        self.interrupts: list[Any] | None = None

    def note(self, values: Any) -> None:
        """A state as the graph streams it: an interrupt stands in it, or alone in its place."""
        interrupts = values.get("__interrupt__") if isinstance(values, Mapping) else None
        if not isinstance(interrupts, (list, tuple)):
            self.values, self.has_values = values, True
            return
        self.interrupts = [*(self.interrupts or []), *interrupts]
        rest = {key: value for key, value in values.items() if key != "__interrupt__"}
        if rest:
            self.values, self.has_values = rest, True

    def stopped(self, values: Any) -> None:
        """The graph is not called at all: it had stopped in this state already."""
        self.values, self.has_values, self.interrupts = values, True, []
