"""The agent's own function that assigns priorities to runs (`langgraph_sdk.Priority`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from .modules import Export, ModuleRefused, load_export
from .user import User
from .wire import dumps

Assign = Callable[[Any], Awaitable[Any]]


async def load_assign(file: str, name: str, folder: Path) -> Assign:
    """The function that a `Priority` of any version of the SDK has. Raises ModuleRefused."""
    export = Export('"priority.path" of langgraph.json', file, name)
    found = await load_export(export, folder)
    assign = getattr(found, "_assign_handler", None)
    if assign is None:
        place = file.removeprefix(f"{folder}/")
        raise ModuleRefused(f"{export.what}: {name} of {place} is no Priority of langgraph_sdk with a function; use @{name}.assign")
    return assign


async def assigned(assign: Assign, question: dict[str, Any]) -> bytes:
    """What the function answers, as JSON. Raises what it raises."""
    from langgraph_sdk.priority.types import PriorityContext

    context = PriorityContext(**{**question, "user": User(question["user"])})
    return dumps(await assign(context))
