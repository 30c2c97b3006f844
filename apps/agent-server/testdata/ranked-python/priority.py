from langgraph_sdk import Priority, PriorityContext, PrioritySettings

priority = Priority()


@priority.assign
async def assign(ctx: PriorityContext) -> PrioritySettings | None:
    assert ctx.user.identity == "" and list(ctx.permissions) == []
    if ctx.cron_id is not None:
        return {"priority": 4, "fairness_group": f"cron of {ctx.graph_id}"}
    rank = ctx.run_metadata.get("rank", ctx.thread_metadata.get("rank"))
    if rank == "broken":
        raise ValueError("no rank for it")
    return None if rank is None else {"priority": rank}
