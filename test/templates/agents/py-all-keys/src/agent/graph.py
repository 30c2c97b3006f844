"""An agent that calls a tool and remembers, and one that plans without messages."""

from dataclasses import dataclass
from typing import TypedDict

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime


@tool
def remember(text: str) -> str:
    """Keep a note."""
    get_store().put(("notes",), "last", {"text": text})
    return "kept"


@dataclass
class Context:
    tone: str = "kind"


class Plan(TypedDict, total=False):
    topic: str
    steps: list[str]


def plan(state: Plan, runtime: Runtime[Context]) -> Plan:
    return {"steps": [f"read about {state['topic']}", f"write in a {runtime.context.tone} tone"]}


graph = create_agent("openai:gpt-5-mini", tools=[remember], context_schema=Context)


def make_planner(config: dict):
    return StateGraph(Plan, context_schema=Context).add_node(plan).add_edge(START, "plan").compile()
