import type { RunStatus } from '../store/row/run-row.js';

/** Progress of a part of a graph, in the words of the thread stream protocol. */
export type AgentStatus = 'started' | 'running' | 'completed' | 'failed' | 'interrupted';

/** The same of a whole run, by the status of its row. */
export const AGENT_STATUS: Readonly<Record<RunStatus, AgentStatus>> = {
  pending: 'started',
  running: 'running',
  success: 'completed',
  error: 'failed',
  timeout: 'failed',
  interrupted: 'interrupted',
};
