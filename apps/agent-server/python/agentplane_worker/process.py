"""What every process of an agent's Python has in common: it loads once, answers its server, reports that it lives, and ends."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .channel import Channel
from .frames import Frame
from .logs import log, open_log
from .loopback import OwnServer, lead_clients_to
from .modules import ModuleRefused
from .threads import Threads
from .watch import stack_of
from .wire import SecretWords, dumps, error_on_wire, loads, short

_HEALTH_S = 0.25
#: What was just given has begun by then, and shows whether it computes.
_ECHO_S = 0.005


class Public(Exception):
    """What is wrong with a question, in words for its caller."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LoadPlace:
    """What is being loaded, as the server reports it to whoever waits."""

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self.file = file


class Process:
    """One process with code of an agent, and the channel to its server."""

    channel: Channel
    #: Those of the loop, where plain functions are called.
    threads: Threads

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._loading = LoadPlace("", "")
        self.own_server = OwnServer()

    async def load(self, order: dict[str, Any], folder: Path, secrets: SecretWords) -> None:
        """Loads what the process is for. Raises ModuleRefused."""
        raise NotImplementedError

    async def answer(self, kind: str, question: dict[str, Any]) -> bytes:
        """The JSON text that answers a question. Raises Public."""
        raise Public("bad_request", f"this process answers no question about {kind}")

    def trouble_of(self, error: BaseException) -> dict[str, str]:
        """What the server hears of a question that failed."""
        if isinstance(error, Public):
            return {"kind": "public", "code": error.code, "message": str(error)}
        log.error("a question failed", exc_info=error)
        message = f"{type(error).__name__}: {error}"
        return {"kind": "failed", "message": message, "stack": message}

    def thread_report(self) -> dict[str, int]:
        """How the threads are used that plain functions of the agent hold."""
        return self.threads.report()

    async def leave(self) -> None:
        """Sends what waits elsewhere; the process ends after it."""

    def refuse(self, frame: Frame, error: Exception) -> None:
        """Answers a frame that raised while it was read."""
        if frame.kind == "ask":
            self._fail(frame.id, error)

    def handle(self, frame: Frame) -> None:
        """A frame of the server; those that only some processes get are theirs."""
        kind, number = frame.kind, frame.id
        head = loads(frame.head) if frame.head else {}
        match kind:
            case "load":
                self.begin(self._load(head))
            case "ask":
                task = self.begin(self._answer(number, head["question"], loads(frame.body)))
                self._asked[number] = task
                task.add_done_callback(lambda _: self._asked.pop(number, None))
            case "stop" if number in self._asked:
                self._asked[number].cancel()
            case "echo":
                loop = asyncio.get_running_loop()
                loop.call_later(_ECHO_S, lambda: self.channel.send("echo"))
            case "serving":
                self.own_server.serves(head["url"])
            case "leave":
                self.begin(self._leave())

    async def open(self, fd: int) -> None:
        """Speaks with the server over a socket that this process was started with."""
        self.channel = await Channel.open(fd, self._receive, lambda: os._exit(0))

    def begin(self, work: Any) -> asyncio.Task[None]:
        """Has it done beside everything else."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _receive(self, frame: Frame) -> None:
        """A frame that cannot be read fails its own call alone: an exception here would close the channel."""
        try:
            self.handle(frame)
        except Exception as error:
            log.error("a message of the server was refused", exc_info=error)
            self.refuse(frame, error)

    async def _load(self, order: dict[str, Any]) -> None:
        secrets = SecretWords(order["secrets"])
        open_log(order["logLevel"], secrets)
        folder = Path(order["folder"])
        # before the packages, as the agent's own
        sys.path[:0] = dict.fromkeys([*order["importFolders"], str(folder)])
        lead_clients_to(self.own_server)
        loading = asyncio.create_task(self.load(order, folder, secrets))
        try:
            while not loading.done():
                self._report_load()
                await asyncio.wait([loading], timeout=_HEALTH_S)
            await loading
        except ModuleRefused as error:
            return self.channel.send("refused", 0, dumps({"message": short(str(error))}))
        except BaseException as error:
            message = f"{self._loading.name or 'the agent'} does not load: {type(error).__name__}: {error}"
            return self.channel.send("refused", 0, dumps({"message": short(message)}))
        self.channel.send("sources", 0, dumps({"files": _own_files(folder)}))
        self.channel.send("loaded", 0, dumps({"packages": [], "library": _library()}))
        self.begin(self._report_health())

    def loads(self, name: str, file: str) -> None:
        """Names what is loaded from now on."""
        self._loading = LoadPlace(name, file)
        self._report_load()

    def _report_load(self) -> None:
        waits: list[str] = []
        for thread in threading.enumerate():
            if thread.name.startswith("asyncio_") and thread.ident is not None:
                waits = stack_of(thread.ident)[:1]
        head = {"graphId": self._loading.name, "file": self._loading.file, "waitsFor": waits}
        self.channel.send("loading", 0, dumps(head))
        self.channel.flush()

    async def _report_health(self) -> None:
        while True:
            due = time.monotonic() + _HEALTH_S
            await asyncio.sleep(_HEALTH_S)
            lag_ms = max(0.0, (time.monotonic() - due) * 1000)
            head = {"lagMs": lag_ms, "heapShare": _memory_share(), "threads": self.thread_report()}
            self.channel.send("health", 0, dumps(head))

    async def _answer(self, number: int, kind: str, question: dict[str, Any]) -> None:
        try:
            self.channel.send("answer", number, body=await self.answer(kind, question))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._fail(number, error)

    def _fail(self, number: int, error: BaseException) -> None:
        trouble = {name: short(text) for name, text in self.trouble_of(error).items()}
        self.channel.send("trouble", number, dumps({"trouble": trouble}))

    async def _leave(self) -> None:
        try:
            await self.leave()
        except Exception as error:
            log.warning("not everything was sent to its end: %s", type(error).__name__)
        self.channel.flush()
        os._exit(0)


def failure_of(error: BaseException, stack: str, secrets: SecretWords) -> dict[str, str]:
    """An error of the agent's own code, for the server's log."""
    shown = error_on_wire(error)
    texts = {"name": shown["error"], "message": shown["message"], "stack": stack}
    # hidden first: what is cut in two is found no more
    return {name: short(secrets.hide(text)) for name, text in texts.items()}


def _library() -> str | None:
    """Version of LangGraph; an app beside the graphs may do without."""
    try:
        return importlib.metadata.version("langgraph")
    except importlib.metadata.PackageNotFoundError:
        return None


def _own_files(folder: Path) -> list[str]:
    """The agent's files that are loaded; a change of one of them makes another agent."""
    files = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    own = (file for file in files if file.startswith(f"{folder}/"))
    return sorted(file for file in own if "/site-packages/" not in file)


def _memory_share() -> float:
    """Used part of the machine's memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(1.0, used / total)
