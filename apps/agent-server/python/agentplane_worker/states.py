"""States of threads as the wire shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import StateSnapshot

from .wire import checkpoint_of

#: Name under which the library notes which versions it has already stopped for.
_SEEN = "__interrupt__"


def _id_of(one: Any) -> str:
    """Releases before 0.6 call it otherwise."""
    return str(one.id if hasattr(one, "id") else one.interrupt_id)


def _interrupts(task: Any) -> list[dict[str, Any]]:
    """What a task waits for. Newer releases of the library have a schema of the answer, shown where the graph gave one."""
    return [
        {"id": _id_of(one), "value": one.value, **({"response_schema": schema} if schema is not None else {})}
        for one in task.interrupts
        for schema in [getattr(one, "response_schema", None)]
    ]


def _task(task: Any) -> dict[str, Any]:
    place = task.state.config if isinstance(task.state, StateSnapshot) else task.state
    checkpoint = checkpoint_of(place)
    if checkpoint is not None and not isinstance(task.state, StateSnapshot):
        # not read: no more than what the library names of it
        checkpoint = {key: value for key, value in checkpoint.items() if value is not None}
    return {
        "id": task.id,
        "name": task.name,
        "path": task.path,
        "error": None if task.error is None else str(task.error),
        "interrupts": _interrupts(task),
        "checkpoint": checkpoint,
        "state": state_on_wire(task.state) if isinstance(task.state, StateSnapshot) else None,
        "result": getattr(task, "result", None),
    }


def state_on_wire(state: StateSnapshot) -> dict[str, Any]:
    """A state as the wire shows it."""
    return {
        "values": state.values,
        "next": state.next,
        "tasks": [_task(task) for task in state.tasks],
        "metadata": state.metadata or {},
        "created_at": state.created_at,
        "checkpoint": checkpoint_of(state.config),
        "parent_checkpoint": checkpoint_of(state.parent_config),
        "interrupts": interrupts_of(state),
    }


def interrupts_of(state: StateSnapshot) -> list[dict[str, Any]]:
    """Everything that a state waits for."""
    return [one for task in state.tasks for one in _interrupts(task)]


def interrupts_by_task(state: StateSnapshot) -> dict[str, Any]:
    """The interrupts of a state as a thread shows them: by the task that waits."""
    return {task.id: _interrupts(task) for task in state.tasks if task.interrupts}


def _is_among(breakpoints: Any, node: str) -> bool:
    return not node.startswith("__") if breakpoints == "*" else node in (breakpoints or ())


def _nodes_of_step(found: CheckpointTuple, before: CheckpointTuple | None) -> list[str]:
    """Nodes whose step made this checkpoint: they have seen more than at the one before."""
    seen_before: Mapping[str, Any] = before.checkpoint["versions_seen"] if before else {}
    return [
        node
        for node, seen in found.checkpoint["versions_seen"].items()
        if node != _SEEN and seen != seen_before.get(node, {})
    ]


async def is_at_breakpoint(
    saver: BaseCheckpointSaver[Any], state: StateSnapshot, kwargs: Mapping[str, Any]
) -> bool:
    """Whether a run has already stopped at a breakpoint in this state.

    The library keeps no note of such a stop and goes past it when it is called again: an attempt that takes over from a
    server which died just then would run what a person was to allow first.
    """
    before, after = kwargs.get("interrupt_before"), kwargs.get("interrupt_after")
    if not before and not after:
        return False
    found = await saver.aget_tuple(state.config)
    if found is None:
        return False
    seen = found.checkpoint["versions_seen"].get(_SEEN, {})
    if not any(version > seen.get(channel, 0) for channel, version in found.checkpoint["channel_versions"].items()):
        return False
    if any(_is_among(before, node) for node in state.next):
        return True
    if not after:
        return False
    parent = await saver.aget_tuple(found.parent_config) if found.parent_config else None
    return any(_is_among(after, node) for node in _nodes_of_step(found, parent))


def selected_state(state: dict[str, Any], select: list[str] | None) -> dict[str, Any]:
    """The parts of a state that were asked for."""
    if not select:
        return state
    keys = [name.removeprefix("values.") for name in select if name.startswith("values.")]
    found = {name: value for name, value in state.items() if name in select}
    values = state.get("values")
    if not keys or "values" in select:
        return found
    chosen = {key: value for key, value in values.items() if key in keys} if isinstance(values, Mapping) else {}
    return {"values": chosen, **found}
