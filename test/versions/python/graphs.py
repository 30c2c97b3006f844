"""Graphs that every release of LangGraph runs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypedDict

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.base import BaseStore
from langgraph.types import Send, interrupt
from pydantic import BaseModel


class Conversation(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def _answer(state: Conversation) -> dict:
    said = state["messages"][-1].content
    model = GenericFakeChatModel(messages=iter([AIMessage(f"you said {said}")]))
    return {"messages": [model.invoke(state["messages"])]}


chat = StateGraph(Conversation).add_node("answer", _answer).add_edge(START, "answer").compile()


class Question(TypedDict):
    answer: str
    word: str


def _ask(state: Question) -> dict:
    return {"answer": interrupt({"question": "who?"})}


def _ask_outside(_state: Question) -> dict:
    return {"answer": interrupt("who?")}


_inner = StateGraph(Question).add_node("ask", _ask).add_edge(START, "ask").compile()
asks = StateGraph(Question).add_node("inner", _inner).add_edge(START, "inner").compile()


decides = StateGraph(Question).add_node("ask", _ask_outside).add_edge(START, "ask").compile()


class Note(BaseModel):
    text: str


@dataclass
class Place:
    name: str


class Kept(TypedDict, total=False):
    note: Note
    place: Place
    at: datetime
    seen: Annotated[list[str], lambda old, new: old + new]
    word: str


def _make(state: Kept) -> dict:
    return {"note": Note(text="n"), "place": Place("p"), "at": datetime(2026, 1, 2)}


def _fan(state: Kept) -> list[Send]:
    return [Send("look", state), Send("look", state)]


def _look(state: Kept) -> dict:
    return {"seen": [f"{state['note'].text}{state['place'].name}{state['at'].year}"]}


async def _remember(state: Kept, config: RunnableConfig, *, store: BaseStore) -> dict:
    before = await store.aget(("notes",), "last")
    await store.aput(("notes",), "last", {"text": "kept"})
    word = config["configurable"].get("word", "")
    return {"word": f"{word} {before.value['text'] if before else 'nothing'}"}


keeps = (
    StateGraph(Kept)
    .add_node("make", _make)
    .add_node("look", _look)
    .add_node("remember", _remember)
    .add_edge(START, "make")
    .add_conditional_edges("make", _fan, ["look"])
    .add_edge("look", "remember")
    .compile(interrupt_before=["remember"])
)
