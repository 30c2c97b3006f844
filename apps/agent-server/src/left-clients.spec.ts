import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, waitFor } from '#lib/testing';
import { testServer } from '../testdata/test-server.js';

const folder = temporaryFolder();
const server = testServer();
let pool: Pool;
let files = 0;

beforeAll(() => {
  pool = openPool({ uri: server.uri, applicationName: 'test', log: createLogger('test', 'silent') });
});
afterAll(() => pool.end());

function stepsIn(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '');
}

/** Milliseconds of each step. A run is to be cancelled before its third one; one that continues has no hurry. */
const CANCELLED_STEP_MS = 1_200;
const STEP_MS = 300;

/** Asks for a run of three steps, and breaks the connection in the middle of the second. */
async function leave(path: string, more: { readonly on_disconnect?: string }): Promise<string> {
  const file = join(folder, `steps-${files++}`);
  const left = new AbortController();
  const waitMs = more.on_disconnect === 'cancel' ? CANCELLED_STEP_MS : STEP_MS;
  const answer = fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ assistant_id: 'slow', input: { waitMs, file }, ...more }),
    signal: left.signal,
  }).then((response) => response.text());
  await waitFor(() => stepsIn(file).includes('second'));
  left.abort();
  await expect(answer).rejects.toThrow('abort');
  return file;
}

async function statusOf(threadId: string): Promise<string | undefined> {
  const [run] = await server.client().runs.list(threadId);
  return run?.status;
}

/** Rows of runs that were read stay for readers that come back. */
async function areEnded(): Promise<boolean> {
  const active = `SELECT 1 FROM agentplane.runs WHERE temporary AND status IN ('pending', 'running')`;
  return (await pool.query(active)).rowCount === 0;
}

const ALL = ['first', 'second', 'third'];

describe('a client that leaves in the middle of its answer', () => {
  it('ends its run or lets it go on, as on_disconnect asks, and leaves the thread usable', async () => {
    const rows = [
      ['stream', { on_disconnect: 'cancel' }, 'interrupted', 2],
      ['stream', { on_disconnect: 'continue' }, 'success', 3],
      ['stream', {}, 'success', 3],
      ['wait', { on_disconnect: 'cancel' }, 'interrupted', 2],
      ['wait', { on_disconnect: 'continue' }, 'success', 3],
      ['wait', {}, 'success', 3],
    ] as const;
    const seen = rows.map(async ([route, more]) => {
      const { thread_id: threadId } = await server.client().threads.create();
      const file = await leave(`/threads/${threadId}/runs/${route}`, more);
      const status = await waitFor(async () => {
        const found = await statusOf(threadId);
        return found !== 'pending' && found !== 'running' && found;
      });
      const steps = stepsIn(file).length;
      await expect(server.client().runs.wait(threadId, 'counter', { input: {} })).resolves.toHaveProperty(
        'steps',
      );
      return [route, more, status, steps];
    });
    expect(await Promise.all(seen)).toEqual(rows);
  });

  it('ends runs without a thread in the same way', async () => {
    const rows = [
      ['stream', 'cancel', 2],
      ['wait', 'continue', 3],
    ] as const;
    const files = await Promise.all(
      rows.map(([route, mode]) => leave(`/runs/${route}`, { on_disconnect: mode })),
    );
    await waitFor(areEnded);
    expect(files.map((file) => stepsIn(file).length)).toEqual(rows.map(([, , steps]) => steps));
  });

  it('cancels no run but its own', async () => {
    const { thread_id: threadId } = await server.client().threads.create();
    const left = [leave(`/threads/${threadId}/runs/wait`, { on_disconnect: 'cancel' })];
    const others = [1, 2, 3].map(() =>
      server.client().runs.wait(null, 'slow', { input: { waitMs: STEP_MS } }),
    );
    await Promise.all(left);
    for (const values of await Promise.all(others)) expect(values).toMatchObject({ steps: ALL });
    await waitFor(async () => (await statusOf(threadId)) === 'interrupted');
  });
});
