"""The authenticated caller as handlers and graphs see it."""

from __future__ import annotations

from typing import Any


class User(dict[str, Any]):
    """Fields of a caller, as items and as attributes (`identity`, `permissions`, and what a handler added)."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the user has no {name}") from None
