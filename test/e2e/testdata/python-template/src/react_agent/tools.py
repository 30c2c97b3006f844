"""Tools of the agent."""

from collections.abc import Callable
from typing import Any

from langgraph.runtime import get_runtime

from react_agent.context import Context


async def search(query: str) -> dict[str, Any] | None:
    """Search for current events."""
    runtime = get_runtime(Context)
    return {"query": query, "results": ["42"], "model": runtime.context.model}


TOOLS: list[Callable[..., Any]] = [search]
