import operator
from typing import Annotated

from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict):
    messages: Annotated[list, add_messages]
    steps: Annotated[int, operator.add]


def think(state: State):
    return {"messages": [{"role": "ai", "content": f"thinking about {state['messages'][-1].content}"}], "steps": 1}


def answer(state: State):
    said = interrupt("go on?") if state["messages"][-2].content == "ask" else "yes"
    return {"messages": [{"role": "ai", "content": f"answer {state['steps']}: {said}"}], "steps": 1}


builder = StateGraph(State)
builder.add_node(think)
builder.add_node(answer)
builder.add_edge(START, "think")
builder.add_edge("think", "answer")
builder.add_edge("answer", END)
graph = builder.compile()
