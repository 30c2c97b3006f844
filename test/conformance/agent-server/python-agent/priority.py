from langgraph_sdk import Priority, PriorityContext, PrioritySettings

priority = Priority()


@priority.assign
async def assign(ctx: PriorityContext) -> PrioritySettings | None:
    """Ranks a run by its own metadata."""
    rank = ctx.run_metadata.get("rank")
    return None if rank is None else {"priority": rank, "fairness_group": "ranked"}
