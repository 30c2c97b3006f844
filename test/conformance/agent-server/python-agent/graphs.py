"""The graphs of `../agent/graphs.ts`, in Python: the same rows are checked against both."""

import asyncio
import operator
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.ui import AnyUIMessage, delete_ui_message, push_ui_message, ui_message_reducer
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter, interrupt


class Said(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class _Letters(BaseChatModel):
    """Answers letter by letter."""

    text: str

    @property
    def _llm_type(self) -> str:
        return "letters"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.text))])

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for letter in self.text:
            await asyncio.sleep(0.004)
            chunk = ChatGenerationChunk(message=AIMessageChunk(letter))
            if run_manager:
                await run_manager.on_llm_new_token(letter, chunk=chunk)
            yield chunk


def _last_text(messages: Sequence[BaseMessage]) -> str:
    return str(messages[-1].text) if messages else ""


async def _repeat(state: Said) -> dict:
    messages = state["messages"]
    return {"messages": [await _Letters(text=f"{len(messages)}: {_last_text(messages)}").ainvoke(messages)]}


echo = StateGraph(Said).add_node("say", _repeat).add_edge(START, "say").add_edge("say", END).compile()


async def _ask(state: Said) -> dict:
    answer = interrupt("Which colour?")
    return {"messages": [await _Letters(text=f"painted {answer}").ainvoke(state["messages"])]}


asking = StateGraph(Said).add_node("ask", _ask).add_edge(START, "ask").add_edge("ask", END).compile()


class Twofold(Said):
    answers: Annotated[list[str], operator.add]


twofold = (
    StateGraph(Twofold)
    .add_node("left", lambda _state: {"answers": [f"left {interrupt('left?')}"]})
    .add_node("right", lambda _state: {"answers": [f"right {interrupt('right?')}"]})
    .add_node("say", lambda state: {"messages": [AIMessage(", ".join(sorted(state["answers"])))]})
    .add_edge(START, "left")
    .add_edge(START, "right")
    .add_edge("left", "say")
    .add_edge("right", "say")
    .add_edge("say", END)
    .compile()
)


class Steps(TypedDict):
    steps: Annotated[list[str], operator.add]
    waitMs: int


counter = (
    StateGraph(Steps)
    .add_node("count", lambda state: {"steps": [f"step {len(state.get('steps', [])) + 1}"]})
    .add_edge(START, "count")
    .add_edge("count", END)
    .compile()
)


def _waits(step: str):
    async def wait(state: Steps, writer: StreamWriter) -> dict:
        writer({"began": step})
        given = state.get("waitMs")
        await asyncio.sleep((100 if given is None else given) / 1000)
        return {"steps": [step]}

    return wait


slow = (
    StateGraph(Steps)
    .add_node("first", _waits("first"))
    .add_node("second", _waits("second"))
    .add_node("third", _waits("third"))
    .add_edge(START, "first")
    .add_edge("first", "second")
    .add_edge("second", "third")
    .add_edge("third", END)
    .compile()
)


class Ticks(TypedDict):
    count: int
    waitMs: int
    said: int


async def _tick(state: Ticks, writer: StreamWriter) -> dict:
    for tick in range(state["count"]):
        writer({"tick": tick})
        await asyncio.sleep(state["waitMs"] / 1000)
    return {"said": state["count"]}


ticking = StateGraph(Ticks).add_node("tick", _tick).add_edge(START, "tick").add_edge("tick", END).compile()


class RangeError(Exception):
    """As the twin names it."""


async def _fail(state: Said) -> dict:
    await _Letters(text="half of").ainvoke(state["messages"])
    raise RangeError("the node gave up")


failing = StateGraph(Said).add_node("say", _fail).add_edge(START, "say").add_edge("say", END).compile()

_child = (
    StateGraph(Steps)
    .add_node("inner", lambda _state: {"steps": [f"inner {interrupt('inside?')}"]})
    .add_node("deeper", lambda _state: {"steps": ["deeper"]})
    .add_edge(START, "inner")
    .add_edge("inner", "deeper")
    .add_edge("deeper", END)
    .compile()
)
nested = (
    StateGraph(Steps)
    .add_node("child", _child)
    .add_node("after", lambda _state: {"steps": ["after"]})
    .add_edge(START, "child")
    .add_edge("child", "after")
    .add_edge("after", END)
    .compile()
)


class Words(TypedDict):
    place: str
    word: str
    seen: list[str]


async def _remember(state: Words, runtime: Runtime) -> dict:
    store, place = runtime.store, state["place"]
    assert store is not None
    if state.get("word"):
        await store.aput(("words", place), state["word"], {"word": state["word"]})
    found = await store.asearch(("words", place), limit=100)
    return {"seen": sorted(item.key for item in found)}


remembering = StateGraph(Words).add_node("remember", _remember).add_edge(START, "remember").add_edge("remember", END).compile()


class Seen(TypedDict):
    seen: dict[str, Any]


def _look(_state: Seen, config: RunnableConfig, runtime: Runtime) -> dict:
    given = config.get("configurable", {})
    user = given.get("langgraph_auth_user")
    seen = {
        **{name: given.get(name) for name in ("thread_id", "run_id", "graph_id", "assistant_id", "word")},
        "tag": given.get("x-tag"),
        "key": given.get("x-api-key"),
        "identity": user.get("identity") if isinstance(user, dict) else getattr(user, "identity", None),
        "context": runtime.context,
        "recursionLimit": config.get("recursion_limit"),
        "tags": config.get("tags"),
    }
    return {"seen": {name: value for name, value in seen.items() if value is not None}}


seeing = StateGraph(Seen).add_node("look", _look).add_edge(START, "look").add_edge("look", END).compile()


class Shown(Said):
    ui: Annotated[Sequence[AnyUIMessage], ui_message_reducer]


async def _show(state: Shown) -> dict:
    message = AIMessage("as you see", id="")
    message.id = f"shown-{id(message)}"
    word = _last_text(state["messages"])
    card = push_ui_message("card", {"word": word, "count": 0}, message=message)
    await asyncio.sleep(0.05)
    props = {"word": word, "count": len(state["messages"])}
    push_ui_message("card", props, id=card["id"], message=message, merge=True)
    other = push_ui_message("card", {"word": "deleted", "count": 0})
    delete_ui_message(other["id"])
    return {"messages": [message]}


showing = StateGraph(Shown).add_node("show", _show).add_edge(START, "show").add_edge("show", END).compile()


@tool
async def add(a: int, b: int) -> str:
    """Adds."""
    return str(a + b)


@tool("break")
async def breaker() -> str:
    """Fails."""
    raise RangeError("the tool gave up")


async def _call(_state: Steps) -> dict:
    found = await add.ainvoke({"type": "tool_call", "id": "call-1", "name": "add", "args": {"a": 1, "b": 2}})
    try:
        await breaker.ainvoke({"type": "tool_call", "id": "call-2", "name": "break", "args": {}})
    except RangeError:
        pass
    return {"steps": [found.text]}


tooling = StateGraph(Steps).add_node("call", _call).add_edge(START, "call").add_edge("call", END).compile()
