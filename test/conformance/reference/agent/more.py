"""Graphs that the twins lack: what the comparison with the reference server needs beside them."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, Field


class Words(TypedDict):
    words: list[str]
    shouted: Annotated[list[str], operator.add]


def _to_each(state: Words) -> list[Send]:
    return [Send("shout", {"word": word}) for word in state["words"]]


def _shout(given: dict[str, str]) -> dict[str, Any]:
    return {"shouted": [given["word"].upper()]}


#: A node for each word.
sending = (
    StateGraph(Words)
    .add_node("shout", _shout)
    .add_conditional_edges(START, _to_each, ["shout"])
    .add_edge("shout", END)
    .compile()
)


class Way(TypedDict):
    path: Annotated[list[str], operator.add]
    turn: str


def _fork(state: Way) -> Command[Literal["left", "right"]]:
    return Command(update={"path": ["fork"]}, goto="left" if state.get("turn") == "left" else "right")


#: A node that says by a command where it goes on.
turning = (
    StateGraph(Way)
    .add_node("fork", _fork)
    .add_node("left", lambda _state: {"path": ["left"]})
    .add_node("right", lambda _state: {"path": ["right"]})
    .add_edge(START, "fork")
    .compile()
)


def _again(state: Way) -> dict[str, Any]:
    return {"path": [f"round {len(state.get('path', [])) + 1}"]}


#: It never ends.
circling = StateGraph(Way).add_node("again", _again).add_edge(START, "again").add_edge("again", "again").compile()


@dataclass
class Tally:
    name: str = "nobody"
    counts: Annotated[list[int], operator.add] = field(default_factory=list)


#: Its state is a dataclass.
tallying = (
    StateGraph(Tally)
    .add_node("tally", lambda state: {"counts": [len(state.name)]})
    .add_edge(START, "tally")
    .add_edge("tally", END)
    .compile()
)


class Order(BaseModel):
    item: str
    amount: int = Field(default=1, ge=1)
    notes: list[str] = []


class Settings(TypedDict, total=False):
    currency: str
    rate: float


def _price(state: Order, runtime: Runtime[Settings]) -> dict[str, Any]:
    context = runtime.context or {}
    return {"notes": [f"{state.amount} {state.item} in {context.get('currency', 'none')}"]}


#: Its state is a model of Pydantic, and it has a context.
ordering = (
    StateGraph(Order, context_schema=Settings)
    .add_node("price", _price)
    .add_edge(START, "price")
    .add_edge("price", END)
    .compile()
)


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def _ask_tool(state: Talk) -> dict[str, Any]:
    call = {"name": "weather", "args": {"town": "Oslo"}, "id": "call-1"}
    return {"messages": [AIMessage("", tool_calls=[call], id="asks")]}


def _use_tool(state: Talk) -> dict[str, Any]:
    return {"messages": [ToolMessage("rain", tool_call_id="call-1", name="weather", id="told")]}


def _answer(state: Talk) -> dict[str, Any]:
    return {"messages": [AIMessage(f"It is {state['messages'][-1].text}", id="answers")]}


#: Messages with a call of a tool and its answer, with ids of their own.
talking = (
    StateGraph(Talk)
    .add_node("ask", _ask_tool)
    .add_node("tool", _use_tool)
    .add_node("answer", _answer)
    .add_edge(START, "ask")
    .add_edge("ask", "tool")
    .add_edge("tool", "answer")
    .add_edge("answer", END)
    .compile()
)


@task
async def _double(number: int) -> int:
    return 2 * number


@entrypoint()
async def doubling(numbers: list[int]) -> list[int]:
    """Doubles numbers, in the functional API."""
    return [await _double(number) for number in numbers]


def _approve(state: Way) -> dict[str, Any]:
    answer = interrupt({"question": "go on?", "choices": ["yes", "no"]})
    return {"path": [f"approved {answer}"]}


#: It asks in the middle.
approving = (
    StateGraph(Way)
    .add_node("before", lambda _state: {"path": ["before"]})
    .add_node("approve", _approve)
    .add_node("after", lambda _state: {"path": ["after"]})
    .add_edge(START, "before")
    .add_edge("before", "approve")
    .add_edge("approve", "after")
    .add_edge("after", END)
    .compile()
)


async def made(config: dict[str, Any]) -> Any:
    """A graph that is made for each run, by its configuration."""
    word = config.get("configurable", {}).get("word", "none")
    return (
        StateGraph(Way)
        .add_node("say", lambda _state: {"path": [word]})
        .add_edge(START, "say")
        .add_edge("say", END)
        .compile()
    )


def _greet(_state: Talk) -> dict[str, Any]:
    return {"messages": [HumanMessage("hello", id="greets")]}


_inner = StateGraph(Talk).add_node("greet", _greet).add_edge(START, "greet").add_edge("greet", END).compile()

#: A graph in a graph, both of messages.
housing = (
    StateGraph(Talk)
    .add_node("inner", _inner)
    .add_node("close", lambda _state: {"messages": [AIMessage("bye", id="closes")]})
    .add_edge(START, "inner")
    .add_edge("inner", "close")
    .add_edge("close", END)
    .compile()
)
