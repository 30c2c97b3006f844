"""An agent with a package of its workspace."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from words import HELLO


class State(TypedDict):
    word: str


graph = StateGraph(State).add_node("say", lambda _: {"word": HELLO}).add_edge(START, "say").compile()
