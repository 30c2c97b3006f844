"""Calls of datasets, examples and experiments."""

import asyncio
import io
import sys
import uuid
from datetime import datetime, timezone
from types import SimpleNamespace

from client_calls import ID, refused, row, with_
from world import same


def inputs(examples):
    return sorted(one.inputs["n"] for one in examples)


@row
def create_dataset(w):
    assert str(w.client.read_dataset(dataset_id=w.client.create_dataset(w.name(), description="d").id).id)


@row
def read_dataset(w):
    assert str(w.client.read_dataset(dataset_name="questions").id) == w.dataset_id


@row
def has_dataset(w):
    assert w.client.has_dataset(dataset_name="questions") and not w.client.has_dataset(dataset_name="none")


@row
def list_datasets(w):
    for more in ({"dataset_name": "questions"}, {"dataset_ids": [w.dataset_id]}):
        assert [str(one.id) for one in w.client.list_datasets(**more)] == [w.dataset_id]


@row
def delete_dataset(w):
    dataset, _ = w.dataset()
    w.client.delete_dataset(dataset_id=dataset.id)
    assert not w.client.has_dataset(dataset_id=dataset.id)


@row
def update_dataset_tag(w):
    dataset, _ = w.dataset()
    w.client.update_dataset_tag(dataset_id=dataset.id, as_of=datetime.now(timezone.utc), tag="prod")
    assert "prod" in w.client.read_dataset_version(dataset_id=dataset.id, tag="prod").tags


@row
def read_dataset_version(w):
    assert w.client.read_dataset_version(dataset_id=w.dataset_id, tag="latest").as_of


@row
def list_dataset_versions(w):
    assert list(w.client.list_dataset_versions(dataset_id=w.dataset_id))


@row
def diff_dataset_versions(w):
    dataset, [one, _] = w.dataset()
    before = datetime.now(timezone.utc)
    w.client.update_example(one, inputs={"n": 5})
    diff = w.client.diff_dataset_versions(
        dataset.id, from_version=before, to_version=datetime.now(timezone.utc)
    )
    assert [str(id) for id in diff.examples_modified] == [one]


@row
def list_dataset_splits(w):
    dataset, _ = w.dataset()
    assert sorted(w.client.list_dataset_splits(dataset_id=dataset.id)) == ["test", "train"]


@row
def update_dataset_splits(w):
    dataset, [one, _] = w.dataset()
    w.client.update_dataset_splits(dataset_id=dataset.id, split_name="mine", example_ids=[one])
    assert inputs(w.client.list_examples(dataset_id=dataset.id, splits=["mine"])) == [1]


@row
def create_example(w):
    made = w.client.create_example({"q": 2}, dataset_id=w.dataset_id, outputs={"a": 2})
    same(w.client.read_example(made.id), {"inputs": {"q": 2}, "outputs": {"a": 2}})


@row
def create_examples(w):
    dataset, _ = w.dataset()
    assert inputs(w.client.list_examples(dataset_id=dataset.id)) == [1, 2]


@row
def create_llm_example(w):
    made = w.client.create_llm_example("question", "answer", dataset_id=w.dataset_id)
    same(w.client.read_example(made.id), {"inputs": {"input": "question"}})


@row
def create_chat_example(w):
    made = w.client.create_chat_example([{"type": "human", "data": {"content": "hi"}}], dataset_id=w.dataset_id)
    assert w.client.read_example(made.id).inputs["input"]


@row
def create_example_from_run(w):
    made = w.client.create_example_from_run(w.client.read_run(w.root), dataset_id=w.dataset_id)
    same(w.client.read_example(made.id), {"inputs": {"q": "hé"}, "outputs": {"a": 2}})


def upload(id, **more):
    from langsmith.schemas import ExampleCreate

    return ExampleCreate(id=id, inputs={"q": 3}, **more)


@row
def upload_examples_multipart(w):
    id = uuid.uuid4()
    w.client.upload_examples_multipart(dataset_id=w.dataset_id, uploads=[upload(id)])
    same(w.client.read_example(id), {"inputs": {"q": 3}})


@row
def read_example(w):
    same(w.client.read_example(w.example_id), {"inputs": {"q": 1}})


@row
def list_examples(w):
    dataset, [one, _] = w.dataset()
    for more in ({"splits": ["train"]}, {"example_ids": [one]}):
        assert inputs(w.client.list_examples(dataset_id=dataset.id, **more)) == [1]
    assert len(list(w.client.list_examples(dataset_id=dataset.id, limit=1))) == 1


@row
def update_example(w):
    _, [one, _] = w.dataset()
    w.client.update_example(one, inputs={"n": 9})
    same(w.client.read_example(one), {"inputs": {"n": 9}})


@row
def update_examples(w):
    dataset, ids = w.dataset()
    w.client.update_examples(dataset_id=dataset.id, updates=[{"id": id, "inputs": {"n": 8}} for id in ids])
    assert inputs(w.client.list_examples(dataset_id=dataset.id)) == [8, 8]


@row
def update_examples_multipart(w):
    from langsmith.schemas import ExampleUpdate

    dataset, [one, _] = w.dataset()
    w.client.update_examples_multipart(
        dataset_id=dataset.id, updates=[ExampleUpdate(id=one, inputs={"n": 7})]
    )
    same(w.client.read_example(one), {"inputs": {"n": 7}})


@row
def delete_example(w):
    dataset, [one, _] = w.dataset()
    w.client.delete_example(one)
    assert inputs(w.client.list_examples(dataset_id=dataset.id)) == [2]


@row
def delete_examples(w):
    dataset, ids = w.dataset()
    w.client.delete_examples(ids)
    assert list(w.client.list_examples(dataset_id=dataset.id)) == []


def target(inputs):
    return {"m": inputs["n"]}


def right(outputs, reference_outputs):
    return outputs == reference_outputs


@row
def evaluate(w):
    dataset, _ = w.dataset()
    results = w.client.evaluate(target, data=dataset.name, evaluators=[right], blocking=True)
    scores = [one["evaluation_results"]["results"][0].score for one in results]
    assert scores == [True, True], scores


@row
def aevaluate(w):
    dataset, _ = w.dataset()

    async def work(inputs):
        return target(inputs)

    async def read():
        results = await w.client.aevaluate(work, data=dataset.name, evaluators=[right])
        return [one async for one in results]

    assert len(asyncio.run(read())) == 2


def upsert():
    from langsmith.schemas import ExampleUpsertWithAttachments

    return ExampleUpsertWithAttachments(id=ID, dataset_id=ID, inputs={"q": 1})


@row
def upsert_examples_multipart(w):
    w.client.upsert_examples_multipart(upserts=[upsert()])


@row
def get_experiment_results(w):
    dataset, _ = w.dataset()
    done = w.client.evaluate(target, data=dataset.name, evaluators=[right], blocking=True)
    w.client.flush()
    found = w.client.get_experiment_results(name=done.experiment_name)
    assert [len(one.runs) for one in found["examples_with_runs"]] == [1, 1]


class Frame:
    """As much of pandas.DataFrame as the methods call."""

    def __init__(self, rows=()):
        self.rows = rows

    def set_index(self, name):
        return self

    def to_dict(self, orient):
        return self.rows

    def to_csv(self, buffer, index):
        buffer.write(b"a,b\n1,2\n")


@row
def get_test_results(w):
    sys.modules.setdefault("pandas", SimpleNamespace(DataFrame=Frame, json_normalize=list))
    [row] = w.client.get_test_results(project_id=w.project_id)
    assert row["outputs.a"] == 2


@row
def upload_dataframe(w):
    w.client.upload_dataframe(Frame(), "frame", ["a"], ["b"])


refused(
    create_comparative_experiment=with_("c", [ID], reference_dataset=ID),
    share_dataset=with_(ID),
    unshare_dataset=with_(ID),
    read_dataset_shared_schema=with_(ID),
    read_shared_dataset=with_(ID),
    list_shared_examples=with_(ID),
    list_shared_projects=with_(dataset_share_token=ID),
    clone_public_dataset=with_(ID),
    read_dataset_openai_finetuning=with_(ID),
    upload_csv=with_(("a.csv", io.BytesIO(b"a,b\n1,2\n")), ["a"], ["b"]),
)
