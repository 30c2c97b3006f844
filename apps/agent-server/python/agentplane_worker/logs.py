"""Log lines as the agent server writes them: JSON on standard error, with the run that they belong to."""

from __future__ import annotations

import contextvars
import logging
import sys
import traceback
from datetime import datetime, timezone
from types import TracebackType
from typing import Any

from .wire import SecretWords, dumps, error_on_wire

#: `run_id` and `thread_id` of the run at work.
run_fields: contextvars.ContextVar[dict[str, str] | None] = contextvars.ContextVar("run_fields", default=None)

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
_NAMES = {level: name for name, level in _LEVELS.items()} | {logging.CRITICAL: "error"}

log = logging.getLogger("agentplane_worker")


#: An agent may log and raise anything, of any size.
_MAX_TEXT = 8_192
_MAX_CAUSES = 5


def _places(trace: TracebackType | None) -> list[str]:
    """The functions at work, innermost first, as the server's own stacks show them."""
    frames = traceback.extract_tb(trace)
    return [f"    at {frame.name} ({frame.filename}:{frame.lineno})" for frame in reversed(frames)]


def stack_text(error: BaseException) -> str:
    """An error and its causes, each with its places. Never raises."""
    lines: list[str] = []
    at: BaseException | None = error
    for depth in range(_MAX_CAUSES):
        if at is None:
            break
        shown = error_on_wire(at)
        lines.append(f"{'caused by ' if depth else ''}{shown['error']}: {shown['message'][:_MAX_TEXT]}")
        lines += _places(at.__traceback__)
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "\n".join(lines)


class _Lines(logging.Formatter):
    def __init__(self, secrets: SecretWords) -> None:
        super().__init__()
        self._secrets = secrets

    def _shown(self, text: str) -> str:
        # hidden first: what is cut in two is found no more
        hidden = self._secrets.hide(text[: 2 * _MAX_TEXT])
        return hidden if len(hidden) <= _MAX_TEXT else f"{hidden[:_MAX_TEXT]}…"

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "level": _NAMES.get(record.levelno, "info"),
            "time": datetime.fromtimestamp(record.created, timezone.utc)  # noqa: UP017 (Python 3.10)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "program": "agent-server",
            **(run_fields.get() or {}),
        }
        if record.name == log.name:
            line["logger"] = record.name
        else:
            line["agent"] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            shown = error_on_wire(error)
            line["err"] = {
                "type": shown["error"],
                "message": self._shown(shown["message"]),
                "stack": self._shown(stack_text(error)),
            }
        try:
            message = record.getMessage()
        except Exception:
            message = str(record.msg)  # its arguments do not fit
        return dumps({**line, "msg": self._shown(message)}).decode()


def open_log(level: str, secrets: SecretWords) -> None:
    """Every logger of the process, the agent's too, writes such lines from this level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(secrets))
    logging.basicConfig(level=_LEVELS.get(level, logging.INFO), handlers=[handler], force=True)
    logging.captureWarnings(True)
    # each request that an SDK makes is a line otherwise
    for chatty in ("httpx", "httpcore", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
