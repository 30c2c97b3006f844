def question(state: dict) -> dict:
    return {"model": "gpt", "messages": [{"role": "user", "content": str(state["messages"][-1].content)}]}
