"""Runs the conformance suite of LangGraph against the saver that a run is given."""

from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import START, StateGraph


class Report(TypedDict):
    passed: dict[str, int]
    failures: list[str]


async def _check(_state: Report, config: RunnableConfig) -> dict:
    saver = config["configurable"]["__pregel_checkpointer"]

    @checkpointer_test(name="ServerSaver")
    async def given():
        yield saver

    report = await validate(given)
    return {
        "passed": {name: result.tests_passed for name, result in report.results.items() if result.detected},
        "failures": [failure for result in report.results.values() for failure in result.failures or ()],
    }


conformance = StateGraph(Report).add_node("check", _check).add_edge(START, "check").compile()
