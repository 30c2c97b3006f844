"""What a run puts out, as far as it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .modes import Namespace, Render, RunEvent, modes_of
from .state import LastState
from .wire import SecretWords


class StreamOutput:
    """Turns what a graph streams into events of the wire, and keeps its newest state."""

    def __init__(
        self,
        modes: Sequence[str],
        emit: Callable[[RunEvent], None],
        is_wanted: Callable[[], bool],
        secrets: SecretWords,
    ) -> None:
        self._emit = emit
        self._is_wanted = is_wanted
        self._secrets = secrets
        self._outlets: dict[str, list[tuple[Render, bool, bool]]] = {}
        for mode in modes_of(modes):
            for source, render in mode.renderers().items():
                outlet = (render, mode.needs_everything, mode.may_carry_errors)
                self._outlets.setdefault(source, []).append(outlet)
        self.state = LastState()

    def chunk(self, chunk: Any) -> None:
        """One chunk of `astream`: `(mode, payload)`, or `(namespace, mode, payload)`."""
        namespace: Namespace
        if len(chunk) == 3:
            namespace, source, payload = chunk
        else:
            namespace, (source, payload) = (), chunk
        if source == "values" and not namespace:
            self.state.note(payload)
        self._show(source, payload, namespace)

    def library_event(self, event: Any) -> None:
        """One event of `astream_events`."""
        self._show("events", event, ())

    def finished(self) -> None:
        """The answer ends with the run."""

    def _show(self, source: str, payload: Any, namespace: Namespace) -> None:
        for render, needs_everything, may_carry_errors in self._outlets.get(source, ()):
            if not needs_everything and not self._is_wanted():
                continue
            for event, data in render(payload, namespace):
                self._emit(RunEvent(event, self._secrets.hide_bytes(data) if may_carry_errors else data))
