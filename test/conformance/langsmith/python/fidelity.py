"""Sends a workload and reads it back by the client's own calls. Usage: fidelity.py URL KEY.

Prints JSON: by workload, how many runs were sent and read, and what differs between them.
"""

import json
import os
import sys
from datetime import datetime
from operator import attrgetter
from typing import TypedDict

os.environ["LANGSMITH_TRACING"] = "true"

from langchain_core.language_models.fake_chat_models import FakeListChatModel  # noqa: E402
from langchain_core.runnables import RunnableLambda  # noqa: E402
from langchain_core.tracers.langchain import LangChainTracer  # noqa: E402
from langgraph.graph import END, START, StateGraph  # noqa: E402
from langsmith import Client, traceable  # noqa: E402
from langsmith._internal._serde import dumps_json  # noqa: E402
from langsmith.run_trees import RunTree  # noqa: E402

FIELDS = ["name", "run_type", "trace_id", "dotted_order", "parent_run_id", "inputs", "outputs", "error", "tags"]


def plain(value):
    """As JSON has it."""
    return json.loads(dumps_json(value))


class NotingClient(Client):
    """Notes what it is given to send, by run; what an update leaves out stays as it was."""

    def __init__(self, **given):
        self.sent = {}
        super().__init__(**given)

    def note(self, id, values):
        known = {name: value for name, value in values.items() if value is not None}
        self.sent.setdefault(str(id), {}).update(plain(known))

    def create_run(self, name, inputs, run_type, **more):
        self.note(more["id"], {"name": name, "inputs": inputs, "run_type": run_type, **more})
        super().create_run(name, inputs, run_type, **more)

    def update_run(self, run_id, **more):
        self.note(run_id, more)
        super().update_run(run_id, **more)


def differences(sent, run):
    read = plain({name: getattr(run, name) for name in FIELDS})
    wrong = [n for n in FIELDS if sent.get(n) not in (None, []) and read[n] != sent[n]]
    for name in ("start_time", "end_time"):
        wanted = datetime.fromisoformat(sent[name]).replace(tzinfo=None)
        if attrgetter(name)(run).replace(tzinfo=None) != wanted:
            wrong.append(name)
    stored = plain((run.extra or {}).get("metadata", {}))
    for name, value in (sent.get("extra") or {}).get("metadata", {}).items():
        if stored.get(name) != value:
            wrong.append(f"metadata.{name}")
    return [f"{run.name}.{name}: {sent.get(name)!r} became {read.get(name)!r}"[:500] for name in wrong]


def run_trees(client, project):
    given = {"tags": ["a", "b"], "extra": {"metadata": {"user": "ann", "n": 1}}}
    root = RunTree(name="root", inputs={"q": "hé\u2028"}, client=client, project_name=project, **given)
    root.post()
    child = root.create_child("child", run_type="llm", inputs={"messages": [{"role": "user", "content": '"'}]})
    child.post()
    child.end(outputs={"text": "x" * 50_000, "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}})
    child.patch()
    root.end(error="Error: it failed")
    root.patch()


def traced(client, project):
    @traceable(run_type="tool")
    def inner(n):
        return {"n": n + 1}

    @traceable(metadata={"deep": {"list": [1, None]}})
    def outer(n):
        return inner(n)

    outer(1, langsmith_extra={"client": client, "project_name": project})


def fails(_):
    raise ValueError("refused by purpose")


def lang_chain(client, project):
    chain = RunnableLambda(lambda text: f"say {text}") | FakeListChatModel(responses=["Blåbær – 🫐", "two"])
    tracer = LangChainTracer(client=client, project_name=project)
    config = {"callbacks": [tracer], "tags": ["lc"], "metadata": {"thread_id": "t"}}
    chain.invoke("ho", config)
    list(chain.stream("ha", config))
    try:
        RunnableLambda(fails).invoke("x", config)
    except ValueError:
        pass


class State(TypedDict):
    text: str


def lang_graph(client, project):
    model = FakeListChatModel(responses=["two"])
    graph = StateGraph(State)
    graph.add_node("ask", lambda state: {"text": model.invoke(state["text"]).content})
    graph.add_node("shout", lambda state: {"text": state["text"].upper()})
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "shout")
    graph.add_edge("shout", END)
    tracer = LangChainTracer(client=client, project_name=project)
    graph.compile().invoke({"text": "hi"}, {"callbacks": [tracer]})


found = {}
for name, work in (("RunTree", run_trees), ("traceable", traced), ("LangChain", lang_chain), ("LangGraph", lang_graph)):
    client = NotingClient(api_url=sys.argv[1], api_key=sys.argv[2])
    work(client, f"python {name}")
    client.flush()
    runs = list(client.list_runs(project_name=f"python {name}"))
    wrong = [one for run in runs for one in differences(client.sent[str(run.id)], run)]
    found[name] = {"sent": len(client.sent), "read": len(runs), "wrong": wrong}
print(json.dumps(found))
