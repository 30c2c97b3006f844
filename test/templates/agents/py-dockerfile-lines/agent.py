"""An agent whose packages come from lines of a Dockerfile too."""

from langchain.chat_models import init_chat_model
from langgraph.graph import START, MessagesState, StateGraph


def answer(state: MessagesState) -> dict:
    return {"messages": [init_chat_model("anthropic:claude-sonnet-4-5").invoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
