"""`python -m agentplane_worker`: started by the agent server, which speaks over descriptor 3."""

from __future__ import annotations

import os

# before the library is imported: states make no class but those of a closed list
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import asyncio
import signal

_FRAMES_FD = 3
_WATCH_FD = 4


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
    asyncio.run(_main())


main()
