"""A call for each public method of `Client`: it checks what came; of a refused one only the refusal is looked at."""

import asyncio
import uuid
from datetime import datetime, timedelta, timezone

from langsmith.evaluation import run_evaluator
from world import names, same

ID = str(uuid.uuid4())
HUB_NAME = "none"
CALLS = {}


def row(do):
    CALLS[do.__name__] = do
    return do


def refused(**calls):
    """Methods of the client with the arguments of their call; a list is read."""
    for name, (given, named) in calls.items():

        def do(world, name=name, given=given, named=named):
            found = getattr(world.client, name)(*given, **named)
            if hasattr(found, "__next__"):
                list(found)

        CALLS[name] = do


def with_(*given, **named):
    return given, named


# Sending runs


@row
def create_run(w):
    id = uuid.uuid4()
    w.client.create_run("sent", {"n": 1}, "chain", id=id, project_name="sent")
    w.client.flush()
    same(w.client.read_run(id), {"name": "sent", "inputs": {"n": 1}})


@row
def update_run(w):
    run = w.stored()
    more = {"trace_id": run["trace_id"], "dotted_order": run["dotted_order"]}
    w.client.update_run(run["id"], outputs={"done": True}, end_time=datetime.now(timezone.utc), **more)
    w.client.flush()
    same(w.client.read_run(run["id"]), {"outputs": {"done": True}, "status": "success"})


@row
def batch_ingest_runs(w):
    run = w.run()
    w.client.batch_ingest_runs(create=[run])
    same(w.client.read_run(run["id"]), {"name": "sent"})


@row
def multipart_ingest(w):
    run = w.run()
    w.client.multipart_ingest(create=[run])
    same(w.client.read_run(run["id"]), {"inputs": {"n": 1}})


@row
def flush(w):
    id = uuid.uuid4()
    w.client.create_run("sent", {}, "chain", id=id, project_name="sent")
    w.client.flush()
    same(w.client.read_run(id), {"name": "sent"})


@row
def flush_compressed_traces(w):
    w.client.flush_compressed_traces()


@row
def request_with_retries(w):
    assert w.client.request_with_retries("GET", "/info").status_code == 200


@row
def info(w):
    assert w.client.info.version and w.client.info.batch_ingest_config["use_multipart_endpoint"]


# Reading runs


@row
def read_run(w):
    run = w.client.read_run(w.root, load_child_runs=True)
    assert [str(id) for id in run.child_run_ids] == [w.model, w.tool]
    assert run.child_runs[0].child_runs[0].error == "Error: boom"


@row
def list_runs(w):
    def found(**more):
        return names(w.client.list_runs(**({"project_name": w.project} | more)))

    every = ["agent", "model", "tool"]
    assert found() == every and found(project_name=[w.project]) == every
    assert names(w.client.list_runs(project_id=w.project_id)) == every
    assert found(is_root=True) == ["agent"] and found(error=True) == ["tool"]
    assert found(run_type="llm") == ["model"] and found(trace_id=w.root) == every
    assert found(parent_run_id=w.model) == ["tool"] and found(query="boom") == ["tool"]
    assert found(filter='eq(name, "tool")', trace_filter='eq(name, "agent")') == ["tool"]
    assert found(is_root=True, tree_filter="neq(error, null)") == ["agent"]
    assert found(reference_example_id=ID) == [] and found(id=[w.tool]) == ["tool"]
    assert found(start_time=w.day_ago()) == every and found(start_time=datetime.now(timezone.utc)) == []
    assert len(found(limit=2)) == 2
    [run] = w.client.list_runs(project_name=w.project, id=[w.root], select=["child_run_ids"])
    assert len(run.child_run_ids) == 2


@row
def get_run_stats(w):
    same(w.client.get_run_stats(project_names=[w.project], is_root=True), {"run_count": 1, "total_tokens": 7})


@row
def get_run_url(w):
    run = w.client.read_run(w.tool)
    url = w.client.get_run_url(run=run, project_name=w.project)
    assert url.startswith(f"{w.url}/o/{w.tenant}/projects/p/{w.project_id}/r/{w.tool}"), url


@row
def list_threads(w):
    threads = w.client.list_threads(project_id=w.project_id)
    assert [one["thread_id"] for one in threads] == [w.thread]


@row
def read_thread(w):
    assert names(w.client.read_thread(thread_id=w.thread, project_id=w.project_id)) == ["agent"]


# Sharing traces


def shared(w):
    run = w.stored()
    url = w.client.share_run(run["id"])
    return run["id"], url, url.split("/")[-2]


@row
def share_run(w):
    id, url, token = shared(w)
    assert url == f"{w.url}/public/{token}/r" and w.client.share_run(id) == url


@row
def unshare_run(w):
    id, _, _ = shared(w)
    w.client.unshare_run(id)
    assert not w.client.run_is_shared(id)


@row
def run_is_shared(w):
    assert w.client.run_is_shared(shared(w)[0]) and not w.client.run_is_shared(w.tool)


@row
def read_run_shared_link(w):
    id, url, _ = shared(w)
    assert w.client.read_run_shared_link(id) == url


@row
def read_shared_run(w):
    id, _, token = shared(w)
    assert str(w.client.read_shared_run(token).id) == id


@row
def list_shared_runs(w):
    id, _, token = shared(w)
    assert [str(run.id) for run in w.client.list_shared_runs(token)] == [id]


# Projects


@row
def create_project(w):
    name = w.name()
    made = w.client.create_project(name, description="d", metadata={"a": "b"})
    again = w.client.create_project(name, description="other", upsert=True)
    assert (made.id, again.description) == (again.id, "other")


@row
def read_project(w):
    project = w.client.read_project(project_name=w.project, include_stats=True)
    same(project, {"run_count": 1, "total_tokens": 7})


@row
def aread_project(w):
    assert asyncio.run(w.client.aread_project(project_id=w.project_id)).name == w.project


@row
def update_project(w):
    made = w.client.create_project(w.name())
    same(w.client.update_project(made.id, description="changed"), {"description": "changed"})


@row
def has_project(w):
    assert w.client.has_project(w.project) and not w.client.has_project(w.name())


@row
def list_projects(w):
    for more in ({"name": w.project}, {"project_ids": [w.project_id]}, {"name_contains": "method"}):
        assert [one.name for one in w.client.list_projects(include_stats=True, **more)] == [w.project]
    assert list(w.client.list_projects(metadata={"no": "such"})) == []


@row
def delete_project(w):
    name = w.name()
    w.client.create_project(name)
    w.client.delete_project(project_name=name)
    assert not w.client.has_project(name)


# Feedback


def judged(w, key):
    return w.client.create_feedback(w.root, key, score=0.5, comment="c", trace_id=None)


@row
def create_feedback(w):
    made = judged(w, "created")
    w.client.flush()
    same(w.client.read_feedback(made.id), {"key": "created", "score": 0.5})


@row
def read_feedback(w):
    same(w.client.read_feedback(judged(w, "read").id), {"key": "read"})


@row
def update_feedback(w):
    made = judged(w, "updated")
    w.client.update_feedback(made.id, score=1, comment="better")
    same(w.client.read_feedback(made.id), {"score": 1, "comment": "better"})


@row
def delete_feedback(w):
    made = judged(w, "deleted")
    w.client.delete_feedback(made.id)
    assert list(w.client.list_feedback(run_ids=[w.root], feedback_key=["deleted"])) == []


@row
def list_feedback(w):
    judged(w, "listed")
    found = w.client.list_feedback(run_ids=[w.root], feedback_key=["listed"], feedback_source_type=["api"])
    assert [one.score for one in found] == [0.5]


@row
def create_presigned_feedback_token(w):
    made = w.client.create_presigned_feedback_token(w.root, "liked", expiration=timedelta(minutes=5))
    assert made.url.startswith(w.url)


@row
def create_presigned_feedback_tokens(w):
    assert len(w.client.create_presigned_feedback_tokens(w.root, ["a", "b"])) == 2


@row
def create_feedback_from_token(w):
    made = w.client.create_presigned_feedback_token(w.root, "by token")
    w.client.create_feedback_from_token(made.url, score=1)
    assert len(list(w.client.list_feedback(run_ids=[w.root], feedback_key=["by token"]))) == 1


@row
def list_presigned_feedback_tokens(w):
    made = w.client.create_presigned_feedback_token(w.model, "stars")
    assert [one.id for one in w.client.list_presigned_feedback_tokens(w.model)] == [made.id]


@run_evaluator
def exact(run, example):
    return {"key": "exact", "score": 1}


@row
def evaluate_run(w):
    assert w.client.evaluate_run(w.root, exact).score == 1


@row
def aevaluate_run(w):
    assert asyncio.run(w.client.aevaluate_run(w.root, exact)).score == 1


config = {"type": "continuous", "min": 0, "max": 1}
parts = [{"part_type": "weighted_key", "weight": 1, "key": "k"}]


@row
def create_feedback_config(w):
    assert w.client.create_feedback_config(w.name(), feedback_config=config).feedback_config["max"] == 1


@row
def list_feedback_configs(w):
    key = w.client.create_feedback_config(w.name(), feedback_config=config).feedback_key
    assert [one.feedback_key for one in w.client.list_feedback_configs(feedback_key=[key])] == [key]


@row
def update_feedback_config(w):
    key = w.client.create_feedback_config(w.name(), feedback_config=config).feedback_key
    assert w.client.update_feedback_config(key, is_lower_score_better=True).is_lower_score_better


@row
def delete_feedback_config(w):
    key = w.client.create_feedback_config(w.name(), feedback_config=config).feedback_key
    w.client.delete_feedback_config(key)
    assert not list(w.client.list_feedback_configs(feedback_key=[key]))


labels = {"type": "categorical", "categories": [{"value": n, "label": str(n)} for n in range(3)]}


@row
def add_feedback_categories(w):
    key = w.client.create_feedback_config(w.name(), feedback_config=labels).feedback_key
    changed = w.client.add_feedback_categories(key, [{"value": 3, "label": "3"}])
    assert len(changed.feedback_config["categories"]) == 4


@row
def remove_feedback_categories(w):
    key = w.client.create_feedback_config(w.name(), feedback_config=labels).feedback_key
    assert len(w.client.remove_feedback_categories(key, [0]).feedback_config["categories"]) == 2


refused(
    create_feedback_formula=with_(
        feedback_key="k", aggregation_type="avg", formula_parts=parts, dataset_id=ID
    ),
    list_feedback_formulas=with_(),
    get_feedback_formula_by_id=with_(ID),
    update_feedback_formula=with_(ID, feedback_key="k", aggregation_type="avg", formula_parts=parts),
    delete_feedback_formula=with_(ID),
)

# Prompts

MANIFEST = {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "chat", "ChatPromptTemplate"]}
MANIFEST["kwargs"] = {"messages": [], "input_variables": []}


def pushed(w):
    name = f"made-{uuid.uuid4()}"
    w.client.push_prompt(name, object=MANIFEST, description="d")
    return name


@row
def create_prompt(w):
    assert w.client.create_prompt(f"made-{uuid.uuid4()}", tags=["t"]).tags == ["t"]


@row
def get_prompt(w):
    name = pushed(w)
    assert w.client.get_prompt(name).full_name == name and w.client.get_prompt("none") is None


@row
def list_prompts(w):
    name = pushed(w)
    assert [one.repo_handle for one in w.client.list_prompts(query=name).repos] == [name]


@row
def update_prompt(w):
    assert w.client.update_prompt(pushed(w), readme="r")["repo"]["readme"] == "r"


@row
def delete_prompt(w):
    name = pushed(w)
    w.client.delete_prompt(name)
    assert w.client.get_prompt(name) is None


@row
def like_prompt(w):
    assert w.client.like_prompt(pushed(w)) == {"likes": 1}


@row
def unlike_prompt(w):
    assert w.client.unlike_prompt(pushed(w)) == {"likes": 0}


@row
def create_commit(w):
    name = pushed(w)
    assert name in w.client.create_commit(name, {**MANIFEST, "lc": 2}, tags="prod")
    assert w.client.pull_prompt_commit(f"{name}:prod").manifest["lc"] == 2


@row
def list_prompt_commits(w):
    assert len(list(w.client.list_prompt_commits(pushed(w)))) == 1


@row
def pull_prompt(w):
    assert w.client.pull_prompt(pushed(w)).messages == []


@row
def pull_prompt_commit(w):
    assert w.client.pull_prompt_commit(pushed(w)).manifest == MANIFEST


@row
def push_prompt(w):
    name = pushed(w)
    assert name in w.client.push_prompt(name, object={**MANIFEST, "lc": 2})


@row
def agent_exists(w):
    assert not w.client.agent_exists("none")


@row
def skill_exists(w):
    assert not w.client.skill_exists("none")


# Directories of a hub, queues, insights

refused(
    pull_agent=with_(HUB_NAME),
    pull_skill=with_(HUB_NAME),
    push_agent=with_(HUB_NAME, files={}),
    push_skill=with_(HUB_NAME, files={}),
    delete_agent=with_(HUB_NAME),
    delete_skill=with_(HUB_NAME),
    list_agents=with_(),
    list_skills=with_(),
    create_annotation_queue=with_(name="q"),
    read_annotation_queue=with_(ID),
    update_annotation_queue=with_(ID, name="r"),
    delete_annotation_queue=with_(ID),
    list_annotation_queues=with_(),
    add_runs_to_annotation_queue=with_(ID, run_ids=[ID]),
    get_run_from_annotation_queue=with_(ID, index=0),
    list_runs_from_annotation_queue=with_(ID),
    delete_run_from_annotation_queue=with_(ID, run_id=ID),
    list_project_issues=with_("methods"),
    generate_insights=with_(chat_histories=[[{"role": "user", "content": "hi"}]], openai_api_key="k"),
    get_insights_report=with_(id=ID, project_id=ID),
    poll_insights=with_(id=ID, project_id=ID, rate=1, timeout=2),
)

# The client itself


@row
def api_key(w):
    assert w.client.api_key == w.key


@row
def api_url(w):
    assert w.client.api_url == w.url


@row
def headers(w):
    assert isinstance(w.client.headers, dict)


@row
def workspace_id(w):
    assert w.client.workspace_id is None


@row
def tracing_mode(w):
    assert w.client.tracing_mode == "langsmith"


def attribute(name):
    CALLS[name] = lambda w: getattr(w.client, name)


for _name in ("compressed_traces", "otel_exporter", "retry_config", "session", "timeout_ms"):
    attribute(_name)
for _name in ("tracing_queue", "tracing_sample_rate"):
    attribute(_name)


@row
def cleanup(w):
    w.client.cleanup()


@row
def close(w):
    type(w.client)(api_url=w.url, api_key=w.key).close()


import dataset_calls  # noqa: E402,F401  adds the calls of datasets
