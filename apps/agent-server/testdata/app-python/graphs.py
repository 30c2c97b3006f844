"""Calls its own server."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph_sdk import get_client

client = get_client()


class State(TypedDict, total=False):
    kept: str
    threads: int


async def _call(_state: State) -> dict:
    return {"threads": await client.threads.count()}


calling = StateGraph(State).add_node("call", _call).add_edge(START, "call").add_edge("call", END).compile()
