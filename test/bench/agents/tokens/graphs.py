"""The graphs of graphs.mjs in Python."""
import asyncio
from typing import TypedDict

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph


class State(TypedDict, total=False):
    text: str
    echoed: str


def one_node(schema, name, node):
    return StateGraph(schema).add_node(name, node).add_edge(START, name).add_edge(name, END).compile()


async def say(state: State):
    return {"echoed": state["text"]}


async def talk(state: State):
    write = get_stream_writer()
    for n in range(200):
        await asyncio.sleep(0.005)
        write({"token": n})
    return {"echoed": state["text"]}


class Tokens(BaseChatModel):
    @property
    def _llm_type(self):
        return "tokens"

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        for n in range(200):
            text = f"t{n} "
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text, id="m"))
            if run_manager:
                await run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="t"))])


model = Tokens()


async def answer(state: MessagesState):
    return {"messages": [await model.ainvoke(state["messages"])]}


echo = one_node(State, "echo", say)
paced = one_node(State, "talk", talk)
tokens = one_node(MessagesState, "model", answer)
