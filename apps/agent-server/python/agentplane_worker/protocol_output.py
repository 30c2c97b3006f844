"""Output of a run for readers of its thread: what `astream_events` of version 3 yields.

With the end of the run, and the questions that it stopped for. Everything is kept, since its readers come and go. The
names and shapes are those of `src/stream/protocol-output.ts`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .modes import RunEvent, checkpoint_on_wire
from .state import LastState
from .wire import SecretWords, dumps

_CHANNELS = frozenset(
    ("values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom")
)
#: Channels that quote errors of the graph in shapes of their own.
_MAY_CARRY_ERRORS = frozenset(("tasks", "tools", "lifecycle"))
#: What `encodeURIComponent` leaves as it is.
_UNQUOTED = "!'()*"


def transformers() -> list[Any]:
    """What the library must be asked for beside values, messages and lifecycle, for every channel to be there."""
    from langgraph.stream import (
        CheckpointsTransformer,
        CustomTransformer,
        TasksTransformer,
        UpdatesTransformer,
    )

    return [UpdatesTransformer, CustomTransformer, CheckpointsTransformer, TasksTransformer]


class ProtocolOutput:
    """Turns events of the library's protocol into those of the wire."""

    def __init__(self, graph_id: str, emit: Callable[[RunEvent], None], secrets: SecretWords) -> None:
        self._graph_id = graph_id
        self._emit = emit
        self._secrets = secrets
        self._asked: set[str] = set()
        self.state = LastState()

    def finished(self) -> None:
        """Nothing more comes from the graph, which did not fail."""
        event = "completed" if self.state.interrupts is None else "interrupted"
        self._show("lifecycle", (), {"event": event, "graph_name": self._graph_id})

    def event(self, given: Any) -> None:
        """One event of `astream_events`."""
        params = given.get("params") if isinstance(given, Mapping) else None
        if not isinstance(params, Mapping):
            return
        method, namespace, data = given["method"], params["namespace"], params["data"]
        match method:
            case "values":
                self._values(namespace, data, params.get("interrupts") or ())
            case "messages" if isinstance(data, (list, tuple)):
                message, metadata = data
                self._show("messages", namespace, message, metadata.get("langgraph_node"))
            case "updates":
                self._updates(namespace, data)
            case "lifecycle":
                # that of the outermost graph is the run's own
                if namespace:
                    self._show("lifecycle", namespace, data)
            case "checkpoints":
                self._show("checkpoints", namespace, checkpoint_on_wire(data))
            case _ if method.startswith("custom:"):
                self._show(method, namespace, {"name": method.removeprefix("custom:"), "payload": data})
            case "custom":
                name = data.get("name") if isinstance(data, Mapping) else None
                self._show(f"custom:{name}" if isinstance(name, str) and name else "custom", namespace, data)
            case _ if method in _CHANNELS:
                self._show(method, namespace, data, params.get("node"))

    def _values(self, namespace: Sequence[str], data: Any, interrupts: Sequence[Any]) -> None:
        if not namespace and (data or not interrupts):
            self.state.note(data)
        if not namespace and interrupts:
            self.state.note({"__interrupt__": interrupts})
        self._ask(namespace, interrupts)
        shown = data
        if isinstance(data, Mapping):
            shown = {key: value for key, value in data.items() if key != "__interrupt__"}
        if shown or not interrupts:
            self._show("values", namespace, shown)

    def _updates(self, namespace: Sequence[str], data: Any) -> None:
        """One event for each node, as the protocol has them."""
        if not isinstance(data, Mapping):
            return self._show("updates", namespace, data)
        for node, values in data.items():
            if node == "__interrupt__":
                self._ask(namespace, values if isinstance(values, (list, tuple)) else ())
            else:
                self._show("updates", namespace, values, node)

    def _ask(self, namespace: Sequence[str], interrupts: Sequence[Any]) -> None:
        """Each question once, though it stands in updates and in the state."""
        for interrupt in interrupts:
            key = getattr(interrupt, "id", None)
            if not isinstance(key, str) or key in self._asked:
                continue
            self._asked.add(key)
            self._show("input", namespace, {"interrupt_id": key, "payload": interrupt.value})

    def _show(self, channel: str, namespace: Sequence[str], data: Any, node: Any = None) -> None:
        params = {
            "namespace": list(namespace),
            "timestamp": int(time.time() * 1000),
            **({"node": node} if isinstance(node, str) else {}),
            "data": data,
        }
        text = dumps(params)
        if channel in _MAY_CARRY_ERRORS:
            text = self._secrets.hide_bytes(text)
        name = "|".join(quote(part, safe=_UNQUOTED) for part in (channel, *namespace))
        self._emit(RunEvent(f"protocol/{name}", text))
