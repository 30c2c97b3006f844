/** Runs that are tasks of the A2A protocol, for lists of them; no other run is in it. */
export const TASK_INDEX = `
CREATE INDEX runs_of_tasks ON agentplane.runs (assistant_id, updated_at DESC) WHERE metadata ? 'a2a';
`;
