"""What the agent is told, of the stand-in."""

AGENT_INSTRUCTION = "You work at the desk."
SYSTEM_PROMPT = "{agent_instruction}\n\nRules:\n{domain_policy}"
