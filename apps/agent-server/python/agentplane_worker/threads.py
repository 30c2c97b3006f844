"""Threads for plain functions of an agent, which nobody can end: what is given up and goes on is counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

#: Plain functions that wait at once, for a model or a database; threads are made as they are needed. Python's own limit is
#: four more than the machine has cores, and what comes then waits for those before.
_MOST = 64


class _Call(Future[Any]):
    """One call. Cancelled while its function is at work it is given up: the thread is held until the function returns."""

    def __init__(self, threads: Threads, work: Callable[[], Any]) -> None:
        super().__init__()
        self._threads = threads
        #: None once nobody needs it: what was cancelled stays in the queue of the executor.
        self.work: Callable[[], Any] | None = work

    def cancel(self) -> bool:
        is_cancelled = super().cancel()
        self._threads.cancelled(self, is_cancelled)
        return is_cancelled


class Threads(ThreadPoolExecutor):
    """An executor that reports how its threads are used."""

    def __init__(self, name: str) -> None:
        super().__init__(_MOST, name)
        self._lock = threading.Lock()
        self._waiting: set[_Call] = set()
        self._running: set[_Call] = set()
        self._given_up: set[_Call] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        call = _Call(self, partial(fn, *args, **kwargs))
        with self._lock:
            self._waiting.add(call)
        try:
            super().submit(self._perform, [call])
        except BaseException:  # no thread can be started, or the process ends
            call.cancel()
            raise
        return call

    def report(self) -> dict[str, int]:
        """As the server reads it: threads, calls that wait for one, and calls at work for which nobody waits."""
        with self._lock:
            return {"most": _MOST, "waiting": len(self._waiting), "givenUp": len(self._given_up)}

    def cancelled(self, call: _Call, has_not_begun: bool) -> None:
        with self._lock:
            if has_not_begun:
                self._waiting.discard(call)
                call.work = None
            elif call in self._running:
                self._given_up.add(call)

    def _perform(self, given: list[_Call]) -> None:
        # taken out, and deleted below: the traceback of a failure has this frame and, by it, those that called it, which
        # would keep the failure and the arguments of the call
        call = given.pop()
        with self._lock:
            self._waiting.discard(call)
            self._running.add(call)
        work, call.work = call.work, None
        result, failure = None, None
        try:
            if not call.set_running_or_notify_cancel() or work is None:
                return
            try:
                result = work()
            except BaseException as error:
                failure = _settable(error)
        finally:
            with self._lock:
                self._running.discard(call)
                self._given_up.discard(call)
        if failure is None:
            call.set_result(result)
        else:
            call.set_exception(failure)
        del call, work, failure


def _settable(error: BaseException) -> BaseException:
    """Before Python 3.12 a StopIteration cannot be set into a future of the loop, whose await would never end."""
    if not isinstance(error, StopIteration):
        return error
    replaced = RuntimeError(f"a plain function raised StopIteration: {error}".removesuffix(": "))
    replaced.__cause__ = error
    return replaced.with_traceback(error.__traceback__)
