"""Calls every public method of the langsmith clients against an api.

Usage: methods.py WORLD (JSON of test/conformance/langsmith/world.ts). Prints JSON: the version, the methods that the
installed package has, and by client and method what became of its call: "ok", or the words of its error.
"""

import asyncio
import inspect
import json
import sys
import warnings

import langsmith
from langsmith import AsyncClient, Client

import async_calls
import client_calls
import resource_calls
from world import World

warnings.simplefilter("ignore")
RESOURCES = ["agents", "annotation_queues", "datasets", "evaluators", "public"]
RESOURCES += ["runs", "sandboxes", "sessions", "threads", "traces"]


def methods_of_resource(resource, path):
    names = []
    for name in dir(type(resource)):
        if name.startswith(("_", "with_raw_response", "with_streaming_response")):
            continue
        if callable(getattr(type(resource), name)):
            names.append(f"{path}.{name}")
        else:
            names += methods_of_resource(getattr(resource, name), f"{path}.{name}")
    return names


def methods(client):
    """Public methods of a client's class, and its attributes that are no resources."""
    members = [name for name, _ in inspect.getmembers(type(client)) if not name.startswith("_")]
    return [name for name in members if name not in RESOURCES]


def words(error):
    return f"{type(error).__name__}: {error}"[:2_000]


def call(do, world):
    try:
        found = do(world)
        if inspect.isgenerator(found):
            list(found)
        return "ok"
    except BaseException as error:
        return words(error)


async def acall(do, world):
    try:
        await do(world)
        return "ok"
    except BaseException as error:
        return words(error)


async def call_all(world):
    resources = {name: await acall(do, world) for name, do in resource_calls.CALLS.items()}
    asynchronous = {name: await acall(do, world) for name, do in async_calls.CALLS.items()}
    return {"resources": resources, "async": asynchronous}


def main():
    world = World(json.load(sys.stdin))
    called = {"client": {name: call(do, world) for name, do in client_calls.CALLS.items()}}
    called |= asyncio.run(call_all(world))
    resources = [one for name in RESOURCES for one in methods_of_resource(getattr(world.client, name), name)]
    found = {"client": methods(world.client), "async": methods(world.async_client), "resources": resources}
    print(json.dumps({"version": langsmith.__version__, "methods": found, "called": called}))


main()
