"""Messages, of the stand-in."""

from dataclasses import dataclass, field


class _Read:
    @classmethod
    def model_validate(cls, data):
        return cls(**data)


@dataclass
class ToolCall(_Read):
    id: str
    name: str
    arguments: dict
    requestor: str = "assistant"


@dataclass
class AssistantMessage(_Read):
    role: str
    content: str | None = None
    tool_calls: list = field(default_factory=list)

    def __post_init__(self):
        self.tool_calls = [ToolCall(**call) if isinstance(call, dict) else call for call in self.tool_calls]


class UserMessage(AssistantMessage):
    pass


class SystemMessage(AssistantMessage):
    pass


@dataclass
class ToolMessage(_Read):
    role: str
    id: str
    content: str
    requestor: str = "assistant"
    error: bool = False
