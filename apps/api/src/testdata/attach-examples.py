"""Adds, changes and reads examples with attachments. Usage: attach-examples.py URL KEY. Prints JSON of what was read."""

import json
import sys

from langsmith import Client, evaluate

client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
dataset = client.create_dataset("attached by python")
small = "é".encode()
large = bytes(range(256)) * 9_000
client.create_examples(
    dataset_id=dataset.id,
    examples=[
        {
            "inputs": {"n": 1},
            "outputs": {"a": 1},
            "attachments": {"note": ("text/plain", small), "picture": {"mime_type": "image/png", "data": large}},
        },
        {"inputs": {"n": 2}},
    ],
)


def read(attachments):
    return {name: [info["mime_type"], info["reader"].read() == wanted[name]] for name, info in (attachments or {}).items()}


wanted = {"note": small, "picture": large, "sketch": large, "more": b"more"}
first, second = client.list_examples(dataset_id=dataset.id, include_attachments=True)
found = {"listed": read(first.attachments), "none": read(second.attachments)}
found["read"] = read(client.read_example(first.id).attachments)


def target(inputs: dict, attachments: dict) -> dict:
    return {"lengths": {name: len(info["reader"].read()) for name, info in attachments.items()}}


results = evaluate(
    target, data=client.list_examples(dataset_id=dataset.id, example_ids=[first.id], include_attachments=True), client=client
)
found["evaluated"] = [row["run"].outputs for row in results]
client.update_example(
    example_id=first.id,
    dataset_id=dataset.id,
    attachments={"more": ("text/plain", b"more")},
    attachments_operations={"rename": {"picture": "sketch"}, "retain": []},
)
found["changed"] = read(client.read_example(first.id).attachments)
found["before"] = read(client.read_example(first.id, as_of=first.modified_at).attachments)
print(json.dumps(found))
