"""The graphs of `../guarded/graphs.ts`, in Python."""

import asyncio
import json
import re
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import interrupt


class State(TypedDict, total=False):
    seen: dict[str, Any]
    waitMs: int


def _look(_state: State, config: RunnableConfig, runtime: Runtime) -> dict:
    given = config.get("configurable", {})
    user = given.get("langgraph_auth_user")
    assert user is None or user.identity == user["identity"]
    told = {name: value for name, value in given.items() if re.search("auth|^x-|^user-agent", name)}
    return {"seen": {**told, "context": runtime.context or {}}}


who = StateGraph(State).add_node("look", _look).add_edge(START, "look").add_edge("look", END).compile()


async def _wait(state: State) -> dict:
    await asyncio.sleep(state["waitMs"] / 1000)
    return {}


slow = StateGraph(State).add_node("wait", _wait).add_edge(START, "wait").add_edge("wait", END).compile()


class Said(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def _talk(state: Said, config: RunnableConfig, runtime: Runtime) -> dict:
    said = {
        "text": state["messages"][-1].text if state["messages"] else None,
        "tier": config.get("configurable", {}).get("tier"),
        "context": runtime.context or {},
        "tag": config.get("metadata", {}).get("tag"),
    }
    return {"messages": [AIMessage(json.dumps(said))]}


talk = StateGraph(Said).add_node("model", _talk).add_edge(START, "model").add_edge("model", END).compile()


def _ask(_state: Said) -> dict:
    return {"messages": [AIMessage(json.dumps({"answer": interrupt("Which colour?")}))]}


ask = StateGraph(Said).add_node("ask", _ask).add_edge(START, "ask").add_edge("ask", END).compile()
