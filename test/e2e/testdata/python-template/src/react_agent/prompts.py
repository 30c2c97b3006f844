"""Prompts of the agent."""

SYSTEM_PROMPT = """You are a helpful assistant.

System time: {system_time}"""
