"""Who decides: the model that MODEL names, or one by rules that needs no key."""

import os
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable


def _decide(messages: Sequence[BaseMessage]) -> AIMessage:
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"Done: {last.text}.")

    def call(name: str, args: dict[str, Any]) -> AIMessage:
        return AIMessage("", tool_calls=[{"id": f"call_{len(messages)}", "name": name, "args": args}])

    if city := re.search(r"weather in (\w+)", last.text, re.IGNORECASE):
        return call("get_weather", {"city": city[1]})
    if message := re.search(r'send "(.+)" to (\w+)', last.text, re.IGNORECASE):
        return call("send_message", {"text": message[1], "to": message[2]})
    return AIMessage(f"You said: {last.text}")


def _usage(messages: Sequence[BaseMessage], answer: AIMessage) -> UsageMetadata:
    """Counts words as tokens."""
    asked = sum(len(message.text.split()) for message in messages)
    answered = max(1, len(answer.text.split()))
    return UsageMetadata(input_tokens=asked, output_tokens=answered, total_tokens=asked + answered)


class RuleModel(BaseChatModel):
    """Stands in for a model until there is a key."""

    model_name: str = "rules"
    """The name by which a price is found."""

    @property
    def _llm_type(self) -> str:
        return "rules"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        answer = _decide(messages)
        answer.usage_metadata = _usage(messages, answer)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def choose_model(tools: Sequence[Any]) -> Runnable:
    """For a real one: pip install langchain and the package of its provider, and add both to requirements.txt."""
    name = os.environ.get("MODEL")
    if not name:
        return RuleModel().bind_tools(tools)
    from langchain.chat_models import init_chat_model

    return init_chat_model(name).bind_tools(tools)
