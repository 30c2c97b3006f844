"""The stream mode `tools`: what tools of a graph do, in the words of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from .wire import error_on_wire

#: The library's names of events, and the wire's.
_EVENTS = {
    "tool-started": "on_tool_start",
    "tool-output-delta": "on_tool_event",
    "tool-finished": "on_tool_end",
    "tool-error": "on_tool_error",
}


class ToolEvents(BaseCallbackHandler):
    """Makes events of the wire of the library's. It hears of the tools itself, as those lack the class of an error."""

    run_inline = True

    def __init__(self) -> None:
        self._calls: dict[UUID, str] = {}
        self._errors: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **given: Any) -> None:
        """Called by the library before it makes its event."""
        self._calls[run_id] = str(given.get("tool_call_id") or run_id)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        """The same."""
        self._calls.pop(run_id, None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """The same."""
        call = self._calls.pop(run_id, None)
        if call is not None:
            self._errors[call] = error_on_wire(error)["error"]

    def on_wire(self, chunk: Any) -> Any:
        """A chunk of the library, changed where it tells of a tool."""
        *namespace, mode, payload = chunk
        return (*namespace, mode, self._payload(payload)) if mode == "tools" else chunk

    def _payload(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        key = str(payload["tool_call_id"])
        event = _EVENTS.get(payload["event"], payload["event"])
        if event == "on_tool_start":
            self._names[key] = payload["tool_name"]
        shown: dict[str, Any] = {"event": event, "toolCallId": key, "name": self._names.get(key, "")}
        match event:
            case "on_tool_start":
                return {**shown, "input": payload.get("input")}
            case "on_tool_event":
                return {**shown, "data": payload["delta"]}
            case "on_tool_error":
                return {**shown, "error": {"error": self._errors.pop(key, "Error"), "message": payload["message"]}}
            case _:
                return {**shown, "output": payload.get("output")}
