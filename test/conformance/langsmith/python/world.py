"""What the calls find in the store, and what they make."""

import uuid
from datetime import datetime, timedelta, timezone

from langsmith import AsyncClient, Client


def same(found, wanted):
    """The wanted members of a dictionary, or of an object."""
    for name, value in wanted.items():
        got = found[name] if isinstance(found, dict) else getattr(found, name)
        assert got == value, f"{name} is {got!r} instead of {value!r}"


def names(runs):
    return sorted(one.name for one in runs)


class World:
    def __init__(self, given):
        self.url, self.key, self.tenant = given["url"], given["key"], given["tenantId"]
        self.project, self.project_id = given["project"], given["projectId"]
        self.root, self.model, self.tool = given["root"], given["model"], given["tool"]
        self.thread, self.dataset_id = given["thread"], given["datasetId"]
        self.example_id, self.start_time = given["exampleId"], given["startTime"]
        self.client = Client(api_url=self.url, api_key=self.key, web_url=self.url)
        self.async_client = AsyncClient(api_url=self.url, api_key=self.key, web_url=self.url)

    def run(self, **more):
        id = str(uuid.uuid4())
        now = datetime.now(timezone.utc)
        order = now.strftime("%Y%m%dT%H%M%S%fZ") + id
        run = {"id": id, "trace_id": id, "dotted_order": order, "name": "sent", "run_type": "chain"}
        return run | {"inputs": {"n": 1}, "start_time": now.isoformat(), "session_name": "sent"} | more

    def stored(self, **more):
        """A run that the api has, sent without the client under test."""
        run = self.run(**more)
        self.client.request_with_retries("POST", "/runs", json=run)
        return run

    def dataset(self):
        dataset = self.client.create_dataset(f"made {uuid.uuid4()}")
        examples = [{"inputs": {"n": n}, "outputs": {"m": n}, "split": s} for n, s in ((1, "train"), (2, "test"))]
        made = self.client.create_examples(dataset_id=dataset.id, examples=examples)
        return dataset, [str(id) for id in made["example_ids"]]

    def name(self):
        return f"made {uuid.uuid4()}"

    def day_ago(self):
        return datetime.now(timezone.utc) - timedelta(days=1)
