"""Log lines as the agent server writes them: JSON on standard error, with the run that they belong to."""

from __future__ import annotations

import contextvars
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from .wire import dumps

#: `run_id` and `thread_id` of the run at work.
run_fields: contextvars.ContextVar[dict[str, str] | None] = contextvars.ContextVar("run_fields", default=None)

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
_NAMES = {level: name for name, level in _LEVELS.items()} | {logging.CRITICAL: "error"}

log = logging.getLogger("agentplane_worker")


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "level": _NAMES.get(record.levelno, "info"),
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "program": "agent-server",
            **(run_fields.get() or {}),
            "logger": record.name,
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line["err"] = {
                "type": type(error).__name__,
                "message": str(error),
                "stack": self.formatException(record.exc_info),
            }
        return dumps({**line, "msg": record.getMessage()}).decode()


def open_log(level: str) -> None:
    """Every logger of the process, the agent's too, writes such lines from this level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=_LEVELS.get(level, logging.INFO), handlers=[handler], force=True)
    # each request that an SDK makes is a line otherwise
    for chatty in ("httpx", "httpcore", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
