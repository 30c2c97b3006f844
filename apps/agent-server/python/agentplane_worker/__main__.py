"""`python -m agentplane_worker`: started by the agent server, which speaks over descriptor 3."""

from __future__ import annotations

import os

# before the library is imported: states make no class but those of a closed list
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import asyncio
import importlib.metadata
import importlib.util
import json
import platform
import re
import signal
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .process import Process

_FRAMES_FD = 3
_WATCH_FD = 4


_OLDEST = (3, 10)
#: What each kind of process is made of, by the argument that it is started with.
_NEEDS = {
    "graphs": ("langgraph", "langchain_core", "orjson"),
    "auth": ("langgraph_sdk", "orjson"),
    "app": ("langgraph_sdk", "httpx", "orjson"),
}


def _refuse(message: str) -> None:
    """Says why the worker cannot begin, as a graph that does not load."""
    from .frames import encode

    with socket.socket(fileno=_FRAMES_FD) as channel:
        channel.sendall(encode("refused", 0, json.dumps({"message": message}).encode(), b""))
        while channel.recv(65_536):  # the server reads, then closes
            pass


def _obstacle(kind: str) -> str | None:
    """What is missing in this interpreter."""
    where = f"Python {platform.python_version()} ({sys.executable})"
    if sys.version_info < _OLDEST:
        return f"{where} is too old for graphs; use {'.'.join(map(str, _OLDEST))} or newer"
    missing = [name for name in _NEEDS[kind] if importlib.util.find_spec(name) is None]
    if missing:
        return (
            f"{where} has no {missing[0]}; install the agent's packages: "
            "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
        )
    return next(filter(None, map(_too_old, sys.argv[2:])), None)


def _too_old(needed: str) -> str | None:
    """What is wrong with the version of a library; `NAME>=VERSION` is the oldest that will do."""
    name, oldest = needed.split(">=")
    found = importlib.metadata.version(name)

    def numbers(version: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", version)[:3]]

    if numbers(found) >= numbers(oldest):
        return None
    return (
        f"{name} {found} is too old for this server, its graphs would fail or answer nothing; "
        f"update it to {oldest} or newer"
    )


def _process(kind: str) -> Process:
    from .logs import open_log
    from .wire import SecretWords

    # warnings of libraries while they are imported are lines of the log too
    open_log("info", SecretWords([]))
    # each imports what it needs: handlers that let callers in load no graph library
    if kind == "auth":
        from .auth import AuthProcess

        return AuthProcess()
    if kind == "app":
        from .app import AppProcess

        return AppProcess()
    from .host import Host

    return Host()


async def _main(kind: str) -> None:
    from .threads import Threads
    from .watch import Watch

    # named as Python names its own, by which the report of a load knows them
    threads = Threads("asyncio")
    asyncio.get_running_loop().set_default_executor(threads)
    Watch(_WATCH_FD)
    process = _process(kind)
    process.threads = threads
    await process.open(_FRAMES_FD)
    await asyncio.Event().wait()


def main() -> None:
    # a terminal's Ctrl-C reaches the server too, which alone decides when this process ends
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    kind = sys.argv[1]
    obstacle = _obstacle(kind)
    if obstacle is None:
        asyncio.run(_main(kind))
    else:
        _refuse(obstacle)


main()
