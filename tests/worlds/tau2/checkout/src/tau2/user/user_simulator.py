"""What the user is told, of the stand-in."""


class UserSimulator:
    def __init__(self, llm, instructions, tools):
        self.system_prompt = f"You are a reader{' with a terminal' if tools else ''}. {instructions}"
