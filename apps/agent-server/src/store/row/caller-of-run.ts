/** SQL: the identity of the caller who made a run `r`; null where authentication is off. Its request is read for it. */
export const CALLER_OF_RUN = `agentplane.searchable(r.kwargs) -> 'caller' ->> 'langgraph_auth_user_id'`;
