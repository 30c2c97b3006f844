import type { Client } from '@langchain/langgraph-sdk';
import { waitFor } from '#lib/testing';

/** The longest pause of a container that was restarted often. */
const ENDED_MS = 240_000;

/** A run of an agent that was acknowledged before it was done. */
export interface EnqueuedRun {
  readonly threadId: string;
  readonly runId: string;
  /** What the person says in it, as nobody else does. */
  readonly text: string;
}

/** Fails unless each of these runs succeeds, and its message stands once in its thread. */
export async function expectDone(agent: Client, runs: readonly EnqueuedRun[]): Promise<void> {
  for (const { threadId, runId, text } of runs) {
    const ended = await waitFor(
      async () => {
        const run = await agent.runs.get(threadId, runId);
        return !['pending', 'running'].includes(run.status) && run;
      },
      { what: `run ${runId} (${text}) to end`, timeoutMs: ENDED_MS, intervalMs: 300 },
    );
    if (ended.status !== 'success') throw new Error(`run ${text} ended: ${JSON.stringify(ended)}`);
  }
  for (const threadId of new Set(runs.map((one) => one.threadId))) {
    const said = await messagesOf(agent, threadId);
    if (new Set(said).size !== said.length) throw new Error(`a run was done twice: ${said.join(', ')}`);
    for (const { text } of runs.filter((one) => one.threadId === threadId))
      if (!said.includes(text)) throw new Error(`the result of an acknowledged run is lost: ${text}`);
  }
}

async function messagesOf(agent: Client, threadId: string): Promise<readonly string[]> {
  const state = await waitFor(() => agent.threads.getState(threadId), {
    what: 'the state of a thread',
    timeoutMs: 60_000,
  });
  const { messages } = state.values as { messages: { type: string; content: string }[] };
  return messages.filter(({ type }) => type === 'human').map(({ content }) => content);
}
