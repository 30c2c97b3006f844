"""Evaluates with the langsmith client. Usage: evaluate.py URL KEY. Prints what was read back as JSON."""

import asyncio
import json
import sys
import warnings

warnings.simplefilter("ignore")
from langsmith import Client, aevaluate, evaluate  # noqa: E402
from langsmith.evaluation import evaluate_existing  # noqa: E402

client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
dataset = client.create_dataset("by python", metadata={"team": "a"})
client.create_examples(
    dataset_id=dataset.id,
    examples=[{"inputs": {"n": n}, "outputs": {"twice": 2 * n}, "split": "small" if n < 2 else "large"} for n in range(3)],
)
one = client.create_example(inputs={"n": 3}, outputs={"twice": 0}, dataset_id=dataset.id, metadata={"odd": True})
client.update_example(one.id, outputs={"twice": 7})
client.update_dataset_splits(dataset_id=dataset.id, split_name="odd", example_ids=[one.id])


def double(inputs: dict) -> dict:
    return {"twice": 2 * inputs["n"]}


async def adouble(inputs: dict) -> dict:
    return double(inputs)


def correct(outputs: dict, reference_outputs: dict) -> bool:
    return outputs == reference_outputs


def share(outputs: list, reference_outputs: list) -> dict:
    pairs = list(zip(outputs, reference_outputs))
    return {"key": "share", "score": sum(a == b for a, b in pairs) / len(pairs)}


def whole(outputs: dict) -> dict:
    return {"key": "whole", "score": 1}


options = {"evaluators": [correct], "summary_evaluators": [share], "client": client}
first = evaluate(double, data="by python", experiment_prefix="sync", **options)
small = client.list_examples(dataset_id=dataset.id, splits=["small"])
second = asyncio.run(aevaluate(adouble, data=small, experiment_prefix="async", **options))
client.flush()
evaluate_existing(first.experiment_name, evaluators=[whole], client=client)
client.flush()


def read(name: str) -> dict:
    project = client.read_project(project_name=name)
    runs = list(client.list_runs(project_id=project.id, is_root=True))
    examples = {e.id: e for e in client.list_examples(dataset_id=dataset.id, as_of=project.metadata["dataset_version"])}
    feedback = client.list_feedback(run_ids=[run.id for run in runs])
    summaries = client.request_with_retries("GET", "/feedback", params={"session": project.id, "level": "session"}).json()
    results = client.get_experiment_results(name=name)
    return {
        "results": {
            "stats": sorted(results["feedback_stats"]),
            "rows": [[e.inputs["n"], len(e.runs)] for e in results["examples_with_runs"]],
        },
        "dataset": str(project.reference_dataset_id) == str(dataset.id),
        "rows": sorted([examples[run.reference_example_id].inputs["n"], run.outputs["twice"]] for run in runs),
        "feedback": sorted([f.key, float(f.score)] for f in feedback),
        "summaries": sorted([f["key"], f["score"]] for f in summaries),
        "splits": sorted(project.metadata["dataset_splits"]),
    }


print(
    json.dumps(
        {
            "first": read(first.experiment_name),
            "second": read(second.experiment_name),
            "experiments": len(list(client.list_projects(reference_dataset_name="by python"))),
            "splits": client.list_dataset_splits(dataset_id=dataset.id),
            "versions": len(list(client.list_dataset_versions(dataset_id=dataset.id))),
        }
    )
)
