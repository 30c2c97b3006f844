"""What a run leaves of a step whose writes no channel took."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP

from .saver import ServerSaver

#: Channel under which the library stores the error of a task.
_ERROR = "__error__"


async def settle_refused_writes(graph: Any, saver: ServerSaver, thread_id: str, error: Exception) -> None:
    """Gives the tasks of a step whose writes no channel took the error of the run, which removes their writes.

    The library stores the writes of a step before it applies them, and applies them again at every look at the state: a
    message that cannot be read would make the thread unreadable.

    :param graph: one whose checkpointer is the saver
    """
    for namespace in saver.written:
        newest = {"thread_id": thread_id, "checkpoint_ns": namespace}
        found = await saver.aget_tuple({"configurable": newest})
        writes = [write for write in (found.pending_writes or ()) if write[1] not in WRITES_IDX_MAP] if found else []
        if found is None or not writes:
            continue
        try:
            await graph.aget_state({"configurable": newest})
        except Exception:
            # a state of a named checkpoint is read without the writes of its tasks
            await graph.aget_state({"configurable": {**newest, "checkpoint_id": found.checkpoint["id"]}})
            for task in dict.fromkeys(task for task, _, _ in writes):
                await saver.aput_writes(found.config, [(_ERROR, error)], task)
