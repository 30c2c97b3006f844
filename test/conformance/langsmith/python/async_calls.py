"""A call for each public method of `AsyncClient`."""

import uuid
from datetime import datetime, timedelta, timezone

from client_calls import HUB_NAME, ID, MANIFEST
from world import same

CALLS = {}


def row(do):
    CALLS[do.__name__] = do
    return do


def refused(name, /, *given, **named):
    async def do(w):
        found = getattr(w.async_client, name)(*given, **named)
        if hasattr(found, "__aiter__"):
            return [one async for one in found]
        return await found

    CALLS[name] = do


async def listed(found):
    return [one async for one in found]


@row
async def create_run(w):
    id = uuid.uuid4()
    await w.async_client.create_run("sent", {"n": 1}, "chain", id=id, project_name="sent", start_time=datetime.now(timezone.utc))
    same(await w.async_client.read_run(id), {"name": "sent", "inputs": {"n": 1}})


@row
async def update_run(w):
    run = w.stored()
    await w.async_client.update_run(run["id"], outputs={"done": True}, end_time=datetime.now(timezone.utc))
    same(await w.async_client.read_run(run["id"]), {"outputs": {"done": True}})


@row
async def read_run(w):
    same(await w.async_client.read_run(w.root), {"name": "agent"})


@row
async def list_runs(w):
    found = await listed(w.async_client.list_runs(project_name=w.project, is_root=False))
    assert sorted(one.name for one in found) == ["model", "tool"]


@row
async def share_run(w):
    run = w.stored()
    assert (await w.async_client.share_run(run["id"])).startswith(f"{w.url}/public/")


@row
async def run_is_shared(w):
    run = w.stored()
    assert not await w.async_client.run_is_shared(run["id"])
    await w.async_client.share_run(run["id"])
    assert await w.async_client.run_is_shared(run["id"])


@row
async def read_run_shared_link(w):
    run = w.stored()
    url = await w.async_client.share_run(run["id"])
    assert await w.async_client.read_run_shared_link(run["id"]) == url


@row
async def create_project(w):
    name = w.name()
    same(await w.async_client.create_project(name), {"name": name})


@row
async def read_project(w):
    same(await w.async_client.read_project(project_name=w.project), {"name": w.project})


@row
async def delete_project(w):
    name = w.name()
    await w.async_client.create_project(name)
    await w.async_client.delete_project(project_name=name)
    assert not w.client.has_project(name)


@row
async def create_feedback(w):
    made = await w.async_client.create_feedback(w.root, "async", score=0.5)
    same(await w.async_client.read_feedback(made.id), {"key": "async", "score": 0.5})


@row
async def read_feedback(w):
    made = w.client.create_feedback(w.root, "read async", score=1)
    same(await w.async_client.read_feedback(made.id), {"key": "read async"})


@row
async def list_feedback(w):
    w.client.create_feedback(w.root, "listed async", score=1)
    found = await listed(w.async_client.list_feedback(run_ids=[w.root], feedback_key=["listed async"]))
    assert len(found) == 1


@row
async def delete_feedback(w):
    made = w.client.create_feedback(w.root, "deleted async", score=1)
    await w.async_client.delete_feedback(made.id)
    assert list(w.client.list_feedback(run_ids=[w.root], feedback_key=["deleted async"])) == []


@row
async def create_presigned_feedback_token(w):
    made = await w.async_client.create_presigned_feedback_token(w.root, "liked", expiration=timedelta(minutes=5))
    assert made.url.startswith(w.url)


@row
async def create_feedback_from_token(w):
    made = await w.async_client.create_presigned_feedback_token(w.root, "by async token")
    await w.async_client.create_feedback_from_token(made.url, score=1)
    assert len(list(w.client.list_feedback(run_ids=[w.root], feedback_key=["by async token"]))) == 1


@row
async def create_dataset(w):
    name = w.name()
    same(await w.async_client.create_dataset(name), {"name": name})


@row
async def read_dataset(w):
    assert str((await w.async_client.read_dataset(dataset_name="questions")).id) == w.dataset_id


@row
async def list_datasets(w):
    found = await listed(w.async_client.list_datasets(name="questions"))
    assert [str(one.id) for one in found] == [w.dataset_id]


@row
async def delete_dataset(w):
    dataset, _ = w.dataset()
    await w.async_client.delete_dataset(dataset_id=dataset.id)
    assert not w.client.has_dataset(dataset_id=dataset.id)


@row
async def create_example(w):
    made = await w.async_client.create_example({"q": 2}, dataset_id=w.dataset_id, outputs={"a": 2})
    same(await w.async_client.read_example(made.id), {"inputs": {"q": 2}})


@row
async def read_example(w):
    same(await w.async_client.read_example(w.example_id), {"inputs": {"q": 1}})


@row
async def list_examples(w):
    dataset, _ = w.dataset()
    assert len(await listed(w.async_client.list_examples(dataset_id=dataset.id))) == 2


@row
async def info(w):
    assert w.async_client.info.version if not callable(w.async_client.info) else await w.async_client.info()


for _name in ("api_key", "headers", "workspace_id"):

    async def _read(w, name=_name):
        getattr(w.async_client, name)

    CALLS[_name] = _read


@row
async def aclose(w):
    await type(w.async_client)(api_url=w.url, api_key=w.key).aclose()


LABELS = {"type": "categorical", "categories": [{"value": n, "label": str(n)} for n in range(3)]}


async def config_of(w):
    return (await w.async_client.create_feedback_config(w.name(), feedback_config=LABELS)).feedback_key


@row
async def create_feedback_config(w):
    assert await config_of(w)


@row
async def list_feedback_configs(w):
    key = await config_of(w)
    assert [one.feedback_key for one in await listed(w.async_client.list_feedback_configs(feedback_key=[key]))] == [key]


@row
async def update_feedback_config(w):
    changed = await w.async_client.update_feedback_config(await config_of(w), is_lower_score_better=True)
    assert changed.is_lower_score_better


@row
async def delete_feedback_config(w):
    key = await config_of(w)
    await w.async_client.delete_feedback_config(key)
    assert not await listed(w.async_client.list_feedback_configs(feedback_key=[key]))


@row
async def add_feedback_categories(w):
    changed = await w.async_client.add_feedback_categories(await config_of(w), [{"value": 3, "label": "3"}])
    assert len(changed.feedback_config["categories"]) == 4


@row
async def remove_feedback_categories(w):
    changed = await w.async_client.remove_feedback_categories(await config_of(w), [0])
    assert len(changed.feedback_config["categories"]) == 2


async def pushed(w):
    name = f"made-{uuid.uuid4()}"
    await w.async_client.push_prompt(name, object=MANIFEST, description="d")
    return name


@row
async def create_prompt(w):
    assert (await w.async_client.create_prompt(f"made-{uuid.uuid4()}", tags=["t"])).tags == ["t"]


@row
async def get_prompt(w):
    name = await pushed(w)
    assert (await w.async_client.get_prompt(name)).full_name == name


@row
async def list_prompts(w):
    name = await pushed(w)
    assert [one.repo_handle for one in (await w.async_client.list_prompts(query=name)).repos] == [name]


@row
async def update_prompt(w):
    assert (await w.async_client.update_prompt(await pushed(w), readme="r"))["repo"]["readme"] == "r"


@row
async def delete_prompt(w):
    name = await pushed(w)
    await w.async_client.delete_prompt(name)
    assert await w.async_client.get_prompt(name) is None


@row
async def like_prompt(w):
    assert await w.async_client.like_prompt(await pushed(w)) == {"likes": 1}


@row
async def unlike_prompt(w):
    assert await w.async_client.unlike_prompt(await pushed(w)) == {"likes": 0}


@row
async def create_commit(w):
    name = await pushed(w)
    assert name in await w.async_client.create_commit(name, {**MANIFEST, "lc": 2}, tags="prod")


@row
async def list_prompt_commits(w):
    assert len([one async for one in w.async_client.list_prompt_commits(await pushed(w))]) == 1


@row
async def pull_prompt(w):
    assert (await w.async_client.pull_prompt(await pushed(w))).messages == []


@row
async def pull_prompt_commit(w):
    assert (await w.async_client.pull_prompt_commit(await pushed(w))).manifest == MANIFEST


@row
async def push_prompt(w):
    name = await pushed(w)
    assert name in await w.async_client.push_prompt(name, object={**MANIFEST, "lc": 2})


@row
async def agent_exists(w):
    assert not await w.async_client.agent_exists("none")


@row
async def skill_exists(w):
    assert not await w.async_client.skill_exists("none")


refused("pull_agent", HUB_NAME)
refused("pull_skill", HUB_NAME)
refused("push_agent", HUB_NAME, files={})
refused("push_skill", HUB_NAME, files={})
refused("delete_agent", HUB_NAME)
refused("delete_skill", HUB_NAME)
refused("list_agents")
refused("list_skills")
refused("create_annotation_queue", name="q")
refused("read_annotation_queue", ID)
refused("update_annotation_queue", ID, name="r")
refused("delete_annotation_queue", ID)
refused("list_annotation_queues")
refused("add_runs_to_annotation_queue", ID, run_ids=[ID])
refused("get_run_from_annotation_queue", ID, index=0)
refused("list_runs_from_annotation_queue", ID)
refused("delete_run_from_annotation_queue", ID, run_id=ID)
