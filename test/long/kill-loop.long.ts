import { Client } from '@langchain/langgraph-sdk';
import { waitFor } from '#lib/testing';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { killProgram } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 60);
const EVERY_MS = 3_000;
const THREADS = 8;
const VICTIMS = ['api', 'controller', 'listener', 'agent-server', 'embedded', 'agent-server'] as const;

interface Deployment {
  id: string;
  latest_revision_id: string;
  url?: string | null;
}
interface Acknowledged {
  readonly threadId: string;
  readonly runId: string;
  readonly text: string;
}

/** A seeded sequence, so that a failure can be run again: KILL_SEED=… npm run test:long. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One program after another dies by SIGKILL while runs are started; afterwards everything is counted. */
describe('a loop of SIGKILLs', () => {
  const seed = Number(process.env.KILL_SEED ?? 20_261_121);
  const dataFolder = newDataFolder();
  let platform: Platform;
  let rest: Rest;
  let url: string;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    rest = new Rest(platform.credentials);
    const { body } = await rest.post<Deployment>('/v2/deployments', {
      name: 'target',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [],
    });
    url = await waitFor(
      async () => {
        const { body: revision } = await rest.get<{ status: string }>(
          `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`,
        );
        const { body: now } = await rest.get<Deployment>(`/v2/deployments/${body.id}`);
        return revision.status === 'DEPLOYED' ? (now.url ?? undefined) : undefined;
      },
      { what: 'the agent', timeoutMs: 90_000 },
    );
  });

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(dataFolder);
  });

  it('loses no acknowledged run, and commits none twice', async () => {
    const random = seeded(seed);
    const agent = new Client({
      apiUrl: url,
      apiKey: platform.credentials.apiKey,
      callerOptions: { maxRetries: 0 },
    });
    const acknowledged: Acknowledged[] = [];
    let going = true;
    let refused = 0;
    const callers = Array.from({ length: THREADS }, async (_, caller) => {
      const thread = await waitFor(() => agent.threads.create().catch(() => undefined), {
        what: 'a thread',
      });
      for (let count = 0; going; count++) {
        const text = `caller ${caller} message ${count}`;
        try {
          const run = await agent.runs.create(thread.thread_id, 'agent', {
            input: { messages: [{ role: 'user', content: text }] },
          });
          acknowledged.push({ threadId: thread.thread_id, runId: run.run_id, text });
        } catch {
          refused++; // nobody promised anything
        }
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
    });
    const killed: Record<string, number> = {};
    for (let round = 0; round < ROUNDS; round++) {
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      const victim = VICTIMS[Math.floor(random() * VICTIMS.length)] ?? 'api';
      if (killProgram(platform.process.pid ?? 0, victim)) killed[victim] = (killed[victim] ?? 0) + 1;
    }
    going = false;
    await Promise.all(callers);
    process.stderr.write(
      `seed ${seed}: killed ${JSON.stringify(killed)}, ${acknowledged.length} runs acknowledged, ${refused} refused\n`,
    );
    expect(acknowledged.length).toBeGreaterThan(ROUNDS);
    for (const { threadId, runId, text } of acknowledged)
      await waitFor(
        async () => {
          const { status } = await agent.runs.get(threadId, runId);
          if (['error', 'timeout', 'interrupted'].includes(status)) throw new Error(`it ended as ${status}`);
          return status === 'success';
        },
        { what: `run ${runId} (${text}) to succeed`, timeoutMs: 120_000 },
      );
    for (const threadId of new Set(acknowledged.map((one) => one.threadId))) {
      const state = await agent.threads.getState(threadId);
      const said = (state.values as { messages: { type: string; content: string }[] }).messages
        .filter(({ type }) => type === 'human')
        .map(({ content }) => content);
      const expected = acknowledged.filter((one) => one.threadId === threadId).map(({ text }) => text);
      // a run whose answer was lost on the way may be there too; none may be there twice
      expect(new Set(said).size).toBe(said.length);
      expect(said).toEqual(expect.arrayContaining(expected));
    }
  });
});
