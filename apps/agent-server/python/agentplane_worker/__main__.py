"""`python -m agentplane_worker`: started by the agent server, which speaks over descriptor 3."""

from __future__ import annotations

import os

# before the library is imported: states make no class but those of a closed list
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import asyncio
import importlib.util
import json
import platform
import signal
import socket
import sys

_FRAMES_FD = 3
_WATCH_FD = 4


_OLDEST = (3, 10)


def _refuse(message: str) -> None:
    """Says why the worker cannot begin, as a graph that does not load."""
    from .frames import encode

    with socket.socket(fileno=_FRAMES_FD) as channel:
        channel.sendall(encode("refused", 0, json.dumps({"message": message}).encode(), b""))
        while channel.recv(65_536):  # the server reads, then closes
            pass


def _obstacle() -> str | None:
    """What is missing in this interpreter."""
    where = f"Python {platform.python_version()} ({sys.executable})"
    if sys.version_info < _OLDEST:
        return f"{where} is too old for graphs; use {'.'.join(map(str, _OLDEST))} or newer"
    if any(importlib.util.find_spec(name) is None for name in ("langgraph", "langchain_core", "orjson")):
        return (
            f"{where} has no langgraph; install the agent's packages: "
            "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
        )
    return None


async def _main() -> None:
    from .host import Host
    from .watch import Watch

    Watch(_WATCH_FD)
    await Host().open(_FRAMES_FD)
    await asyncio.Event().wait()


def main() -> None:
    # a terminal's Ctrl-C reaches the server too, which alone decides when this process ends
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    obstacle = _obstacle()
    if obstacle is None:
        asyncio.run(_main())
    else:
        _refuse(obstacle)


main()
