"""An agent that asks a model over HTTP."""

import os
from typing import Annotated, TypedDict

import httpx
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


async def answer(state: State) -> dict:
    async with httpx.AsyncClient(base_url=os.environ["OPENAI_BASE_URL"]) as client:
        body = {"model": "gpt", "messages": [{"role": "user", "content": str(state["messages"][-1].content)}]}
        said = await client.post("/chat/completions", json=body, headers={"authorization": os.environ["OPENAI_API_KEY"]})
        return {"messages": [AIMessage(said.json()["choices"][0]["message"]["content"])]}


builder = StateGraph(State).add_node("answer", answer).add_edge(START, "answer")
graph = builder
