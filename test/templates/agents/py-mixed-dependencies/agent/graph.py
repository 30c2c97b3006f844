"""An agent of the vendor's classes: tokens, a tool, an answer of a given shape."""

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel


class Verdict(BaseModel):
    is_good: bool
    reasons: list[str]


class State(MessagesState):
    verdict: Verdict


@tool
def look(place: str) -> str:
    """Looks at a place."""
    return place


async def answer(state: State) -> dict:
    return {"messages": [await ChatOpenAI(model="gpt-4o").bind_tools([look]).ainvoke(state["messages"])]}


async def judge(state: State) -> dict:
    return {"verdict": await ChatOpenAI(model="gpt-4o").with_structured_output(Verdict).ainvoke(state["messages"])}


async def force(state: State) -> dict:
    model = ChatOpenAI(model="gpt-4o", use_responses_api=True).bind_tools([look], tool_choice="any")
    called = await model.ainvoke(state["messages"][:1])
    assert called.tool_calls[0]["name"] == "look"
    return {}


graph = (
    StateGraph(State)
    .add_node(answer)
    .add_node(judge)
    .add_node(force)
    .add_edge(START, "answer")
    .add_edge("answer", "judge")
    .add_edge("judge", "force")
    .compile()
)
