"""An agent whose packages are all named with their versions, those of a server for laptops among them."""

import os
from typing import Annotated, TypedDict

import httpx
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from agent.words import question


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


async def answer(state: State) -> dict:
    async with httpx.AsyncClient(base_url=os.environ["OPENAI_BASE_URL"]) as client:
        said = await client.post("/chat/completions", json=question(state), headers={"authorization": os.environ["OPENAI_API_KEY"]})
        return {"messages": [AIMessage(said.json()["choices"][0]["message"]["content"])]}


graph = StateGraph(State).add_node("answer", answer).add_edge(START, "answer").compile()
