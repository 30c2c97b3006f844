"""The stream modes of the wire: what the library must stream for each, and how its payloads become events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import message_chunk_to_message

from .wire import checkpoint_of, dumps


class RunEvent(NamedTuple):
    """One event of a run's output: `mode`, or `mode|namespace…` for what came from a subgraph."""

    event: str
    data: bytes


Namespace = Sequence[str]
Render = Callable[[Any, Namespace], Sequence[RunEvent]]


class Mode(NamedTuple):
    """Everything that the worker knows of a stream mode."""

    #: Made anew for each run: how a payload of each source becomes events.
    renderers: Callable[[], Mapping[str, Render]]
    #: It shows checkpoints, so the library must make one after each step.
    needs_checkpoints: bool = False
    #: It is made of everything so far, so it must see what comes while nothing reads.
    needs_everything: bool = False
    #: It quotes errors of the graph; secrets of the server are taken out.
    may_carry_errors: bool = False


def _name(event: str, namespace: Namespace) -> str:
    return "|".join((event, *namespace))


def _plain(event: str, change: Callable[[Any], Any] = lambda payload: payload) -> Render:
    return lambda payload, namespace: [RunEvent(_name(event, namespace), dumps(change(payload)))]


def _tokens() -> Mapping[str, Render]:
    """`messages-tuple`: each token of a model with its metadata."""
    last: tuple[Any, bytes] = (None, b"")

    def render(payload: Any, namespace: Namespace) -> Sequence[RunEvent]:
        nonlocal last
        message, metadata = payload
        # one object for all tokens of a call
        if last[0] is not metadata:
            last = (metadata, dumps({**metadata, "graph_node": metadata.get("langgraph_node")}))
        return [RunEvent(_name("messages", namespace), b"[" + dumps(message) + b"," + last[1] + b"]")]

    return {"messages": render}


def _growing_messages() -> Mapping[str, Render]:
    """`messages`, the wire's older form: metadata once, everything so far, the whole message once it is in the state."""
    partial: dict[str, Any] = {}
    complete: set[str] = set()

    def completed(messages: Sequence[Any]) -> list[RunEvent]:
        news = [one for one in messages if getattr(one, "id", None) and one.id not in complete]
        complete.update(one.id for one in news)
        return [RunEvent("messages/complete", dumps(news))] if news else []

    def token(payload: Any, _: Namespace) -> Sequence[RunEvent]:
        message, metadata = payload
        key = getattr(message, "id", None) or ""
        events: list[RunEvent] = []
        before = partial.get(key)
        if before is None:
            events.append(RunEvent("messages/metadata", dumps({key: {"metadata": metadata}})))
        if not type(message).__name__.endswith("Chunk"):
            partial[key] = message
            return [*events, *completed([message])]
        partial[key] = message if before is None else before + message
        # what there is so far is a message, not a piece of one
        return [*events, RunEvent("messages/partial", dumps([message_chunk_to_message(partial[key])]))]

    def values(payload: Any, namespace: Namespace) -> Sequence[RunEvent]:
        messages = payload.get("messages") if isinstance(payload, Mapping) else None
        return completed(messages) if not namespace and isinstance(messages, list) else []

    return {"messages": token, "values": values}


def _public_config(config: Any) -> Any:
    """A configuration without the keys that only the server may see."""
    if not isinstance(config, Mapping):
        return config
    shown = {key: config[key] for key in ("configurable", "tags", "metadata", "recursion_limit") if key in config}
    if isinstance(shown.get("configurable"), Mapping):
        shown["configurable"] = {
            key: value for key, value in shown["configurable"].items() if not str(key).startswith("__")
        }
    return shown


def _task(task: Any) -> Any:
    place = checkpoint_of(task.get("state")) if isinstance(task, Mapping) else None
    if place is None:
        return task
    # not read: no more than what the library names of it
    named = {key: value for key, value in place.items() if value is not None}
    return {**{key: value for key, value in task.items() if key != "state"}, "checkpoint": named}


def checkpoint_on_wire(payload: Any) -> Any:
    """The library's description of a checkpoint, in the names of the wire."""
    if not isinstance(payload, Mapping):
        return payload
    config, parent = payload.get("config"), payload.get("parent_config")
    tasks = payload.get("tasks")
    return {
        **payload,
        "config": _public_config(config),
        "parent_config": _public_config(parent),
        "checkpoint": checkpoint_of(config),
        "parent_checkpoint": checkpoint_of(parent),
        "tasks": [_task(task) for task in tasks] if isinstance(tasks, (list, tuple)) else tasks,
    }


def _debug(payload: Any) -> Any:
    if isinstance(payload, Mapping) and payload.get("type") == "checkpoint":
        return {**payload, "payload": checkpoint_on_wire(payload["payload"])}
    return payload


#: In this order the events of a payload that several modes are made of follow each other.
MODES: Mapping[str, Mode] = {
    "messages-tuple": Mode(_tokens),
    "messages": Mode(_growing_messages, needs_everything=True),
    "values": Mode(lambda: {"values": _plain("values")}),
    "updates": Mode(lambda: {"updates": _plain("updates")}),
    "custom": Mode(lambda: {"custom": _plain("custom")}),
    "events": Mode(lambda: {"events": _plain("events")}, may_carry_errors=True),
    "tools": Mode(lambda: {"tools": _plain("tools")}, may_carry_errors=True),
    "debug": Mode(lambda: {"debug": _plain("debug", _debug)}, needs_checkpoints=True, may_carry_errors=True),
    "tasks": Mode(lambda: {"tasks": _plain("tasks")}, may_carry_errors=True),
    "checkpoints": Mode(
        lambda: {"checkpoints": _plain("checkpoints", checkpoint_on_wire)},
        needs_checkpoints=True,
        may_carry_errors=True,
    ),
}


def modes_of(names: Sequence[str]) -> list[Mode]:
    """The definitions of these modes, in the order of the table."""
    return [mode for name, mode in MODES.items() if name in names]


def library_modes_of(names: Sequence[str]) -> list[str]:
    """The library's modes that these are made of. Values are always wanted: the last ones are the result."""
    sources = [source for mode in modes_of(names) for source in mode.renderers()]
    return [source for source in dict.fromkeys(["values", *sources]) if source != "events"]
