"""A thread that says what the loop executes when it does nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time

_HANG_S = 5.0
_LOOK_S = 0.5
_SHOWN_FRAMES = 8


def stack_of(thread_id: int) -> list[str]:
    """The functions at work in a thread, innermost first, by the lines of their author."""
    frame = sys._current_frames().get(thread_id)
    lines: list[str] = []
    while frame is not None:
        code = frame.f_code
        if "/site-packages/" not in code.co_filename and not code.co_filename.startswith(("<frozen", sys.base_prefix)):
            lines.append(f"{code.co_name} ({code.co_filename}:{frame.f_lineno})")
        frame = frame.f_back
    return [line for line in lines if "agentplane_worker/" not in line][:_SHOWN_FRAMES]


class Watch:
    """Writes a line of JSON for each time that the loop stands for five seconds; ends the process with its server."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._beat = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._server = os.getppid()
        threading.Thread(target=self._watch, name="agentplane-watch", daemon=True).start()
        self._tick()

    def _tick(self) -> None:
        self._beat = time.monotonic()
        self._loop.call_later(_LOOK_S, self._tick)

    def _watch(self) -> None:
        told = 0.0
        while True:
            time.sleep(_LOOK_S)
            if os.getppid() != self._server:
                os._exit(0)
            beat = self._beat
            if time.monotonic() - beat < _HANG_S or told == beat:
                continue
            told = beat
            line = {"stack": stack_of(self._thread_id)}
            os.write(self._fd, f"{json.dumps(line)}\n".encode())
