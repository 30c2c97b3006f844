/** Schema of everything the server keeps, the checkpointer's own tables included. */
export const SCHEMA = 'agentplane';
