"""Graphs in Python that the tests use."""

import asyncio
import logging
import os
import threading
import time
from dataclasses import dataclass
from typing import Annotated, TypedDict

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt


class Conversation(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def _answer(state: Conversation) -> dict:
    said = state["messages"][-1].content
    model = GenericFakeChatModel(messages=iter([AIMessage(f"you said {said}")]))
    return {"messages": [model.invoke(state["messages"])]}


echo = StateGraph(Conversation).add_node("answer", _answer).add_edge(START, "answer").add_edge("answer", END)


class Question(TypedDict):
    answer: str


def _ask(state: Question) -> dict:
    return {"answer": interrupt({"question": "who?"})}


asks = StateGraph(Question).add_node("ask", _ask).add_edge(START, "ask").compile()


class Text(TypedDict):
    text: str


async def make_graph(config: RunnableConfig):
    async def tell(state: Text) -> dict:
        return {"text": config["configurable"].get("word", "no word")}

    return StateGraph(Text).add_node("tell", tell).add_edge(START, "tell").compile()


async def _shout(state: Text) -> dict:
    await asyncio.sleep(0)
    return {"text": state["text"].upper()}


shouts = StateGraph(Text).add_node("shout", _shout).add_edge(START, "shout").compile()


async def _remember(state: Text, runtime: Runtime) -> dict:
    assert runtime.store is not None
    before = await runtime.store.aget(("notes",), "last")
    await runtime.store.aput(("notes",), "last", {"text": state["text"]})
    return {"text": before.value["text"] if before else "nothing"}


remembers = StateGraph(Text).add_node("remember", _remember).add_edge(START, "remember").compile()


def _fail(state: Text) -> dict:
    raise ValueError(f"cannot take {state['text']}")


fails = StateGraph(Text).add_node("fail", _fail).add_edge(START, "fail").compile()


class Steps(TypedDict):
    ms: int
    steps: Annotated[list[str], lambda old, new: old + new]


def _step(name: str):
    def step(state: Steps) -> dict:
        time.sleep(state["ms"] / 1000)
        return {"steps": [name]}

    return step


slow = (
    StateGraph(Steps)
    .add_node("first", _step("first"))
    .add_node("second", _step("second"))
    .add_edge(START, "first")
    .add_edge("first", "second")
    .compile()
)


def _count(state) -> dict:
    time.sleep(state.get("ms", 0) / 1000)
    return {"steps": [f"step {len(state['steps']) + 1}"]}


counter = StateGraph(Steps).add_node("count", _count).add_edge(START, "count").compile()


def _all_steps(steps: list[str], updates: list[list[str]]) -> list[str]:
    return [*steps, *(step for update in updates for step in update)]


class Deltas(TypedDict):
    steps: Annotated[list[str], DeltaChannel(_all_steps, snapshot_frequency=7)]
    city: str
    ms: int


#: Adds one step, as `counter` does, to a channel that stores changes.
deltas = StateGraph(Deltas).add_node("count", _count).add_edge(START, "count").compile()


def _pick(_state: Deltas) -> dict:
    return {"steps": ["picked"], "city": "Rome"}


def _report(state: Deltas) -> dict:
    return {"steps": [f"sunny in {state['city']}"]}


_weather = (
    StateGraph(Deltas)
    .add_node("pick", _pick)
    .add_node("report", _report)
    .add_edge(START, "pick")
    .add_edge("pick", "report")
    .compile(interrupt_before=["report"])
)

#: Its subgraph stops before the last of its nodes.
forecast = StateGraph(Deltas).add_node("weather", _weather).add_edge(START, "weather").compile()


def _adds(step: str):
    return lambda _state: {"steps": [step]}


def _ask_fourth(state: Deltas) -> dict:
    if state.get("city") == "Rome":
        raise ValueError("not in Rome")
    return {"steps": [interrupt("who?")]}


#: Three of its nodes add to a channel that stores changes in one step; a fourth asks, or fails in `Rome`.
quartet = (
    StateGraph(Deltas)
    .add_node("c", _adds("c"))
    .add_node("a", _adds("a"))
    .add_node("b", _adds("b"))
    .add_node("ask", _ask_fourth)
    .add_edge(START, "c")
    .add_edge(START, "a")
    .add_edge(START, "b")
    .add_edge(START, "ask")
    .compile()
)


def _rival(city: str):
    return lambda _state: {"city": city, "steps": [f"{city} wins"]}


#: Two of its nodes write one value in one step, which its channel refuses.
rivals = (
    StateGraph(Deltas)
    .add_node("rome", _rival("Rome"))
    .add_node("oslo", _rival("Oslo"))
    .add_edge(START, "rome")
    .add_edge(START, "oslo")
    .compile()
)

#: Its subgraph is `rivals`.
rivalry = StateGraph(Deltas).add_node("contest", rivals).add_edge(START, "contest").compile()


class DeltaConversation(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]


def _number(state: DeltaConversation) -> dict:
    return {"messages": [AIMessage(f"{len(state['messages'])} messages")]}


#: Answers with the number of messages, which its channel stores as changes.
delta_chat = StateGraph(DeltaConversation).add_node("answer", _number).add_edge(START, "answer").compile()


def _environment(state: Text) -> dict:
    return {"text": " ".join(os.environ)}


environment = StateGraph(Text).add_node("tell", _environment).add_edge(START, "tell").compile()


class Awkward:
    """Raises when it is shown."""

    def model_dump(self) -> dict:
        raise KeyError("nothing")


def _awkward(state: Text, runtime: Runtime) -> dict:
    runtime.stream_writer(Awkward())
    return {"text": "done"}


awkward = StateGraph(Text).add_node("awkward", _awkward).add_edge(START, "awkward").compile()


def _log(state: Text) -> dict:
    try:
        raise ValueError(f"raised {state['text']}")
    except ValueError:
        logging.getLogger("mine").exception("logged %s", state["text"] + "x" * 20_000)
    return {"text": "done"}


logs = StateGraph(Text).add_node("log", _log).add_edge(START, "log").compile()


@tool
def spell(word: str) -> str:
    """Spells a word."""
    if not word:
        raise ValueError("no word")
    return "-".join(word)


def _spell(state: Text) -> dict:
    for key, word in (("call-1", state["text"]), ("call-2", "")):
        try:
            spell.invoke({"type": "tool_call", "id": key, "name": "spell", "args": {"word": word}})
        except ValueError:
            pass
    return {}


tooling = StateGraph(Text).add_node("spell", _spell).add_edge(START, "spell").compile()


async def _compute(_state: Text) -> dict:
    while True:
        pass


computes = StateGraph(Text).add_node("compute", _compute).add_edge(START, "compute").compile()


_all_there = threading.Barrier(24)


def _meet(_state: Text) -> dict:
    _all_there.wait(timeout=10)
    return {"text": "met"}


class _Met(TypedDict):
    text: Annotated[str, lambda _before, after: after]


meets = (
    StateGraph(_Met)
    .add_node("meet", _meet)
    .add_conditional_edges(START, lambda state: [Send("meet", state) for _ in range(24)])
    .compile()
)


@dataclass
class Preference:
    word: str = "none given"


def _prefer(state: Text, runtime: Runtime[Preference]) -> dict:
    return {"text": runtime.context.word}


prefers = StateGraph(Text, context_schema=Preference).add_node("prefer", _prefer).add_edge(START, "prefer").compile()
