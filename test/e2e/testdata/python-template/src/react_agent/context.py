"""What a caller may choose for a run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Annotated

from . import prompts


@dataclass(kw_only=True)
class Context:
    """The context of the agent."""

    system_prompt: str = field(
        default=prompts.SYSTEM_PROMPT,
        metadata={"description": "What the agent is told before the conversation."},
    )
    model: Annotated[str, {"__template_metadata__": {"kind": "llm"}}] = field(
        default="rules/plain",
        metadata={"description": "The model, as provider/name."},
    )

    def __post_init__(self) -> None:
        """Take what was not given from the environment."""
        for one in fields(self):
            if one.init and getattr(self, one.name) == one.default:
                setattr(self, one.name, os.environ.get(one.name.upper()) or one.default)
