"""How values of states are stored: as MessagePack that makes no class but those of a closed list."""

from __future__ import annotations

import json
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer


class StateSerializer(JsonPlusSerializer):
    """The library's serializer, narrowed: what callers and models wrote is data.

    Classes come from the library's own list of harmless ones and from the schemas of the agent's graphs; text that looks
    like a constructor of LangChain comes back as the equal JSON value. Nothing is pickled.
    """

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, text = data
        if kind == "json":
            return json.loads(text)
        return super().loads_typed(data)
