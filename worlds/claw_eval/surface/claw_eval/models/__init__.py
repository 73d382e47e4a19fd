"""Tasks, traces and scores, as graders see them: by attribute."""

from .content import AudioBlock, ContentBlock, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock, VideoBlock
from .message import Message
from .scoring import compute_task_score, is_pass
from .task import TaskDefinition
from .trace import DimensionScores, MediaLoad, TokenUsage, ToolDispatch, TraceMessage

__all__ = [
    "AudioBlock",
    "ContentBlock",
    "DimensionScores",
    "ImageBlock",
    "MediaLoad",
    "Message",
    "TaskDefinition",
    "TextBlock",
    "TokenUsage",
    "ToolDispatch",
    "ToolResultBlock",
    "ToolUseBlock",
    "TraceMessage",
    "VideoBlock",
    "compute_task_score",
    "is_pass",
]
