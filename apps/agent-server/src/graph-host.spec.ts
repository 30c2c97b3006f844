import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, Run, Thread } from '@langchain/langgraph-sdk';
import { itLong, temporaryFolder, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { testServer } from '../testdata/test-server.js';

const folder = temporaryFolder();
const server = testServer();
let uri: string;
let client: Client;

beforeAll(() => {
  ({ uri } = server);
  client = server.client();
});

/** Process ids of the graph hosts of a server. */
function hostsOf(pid: number | undefined): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((id) => {
      try {
        return (
          id > 0 && readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(pid)
        );
      } catch {
        return false; // it has ended in the meantime
      }
    });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

async function expectOk(): Promise<void> {
  const response = await fetch(`${server.url}/ok`);
  expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ ok: true })]);
}

interface Answer {
  readonly __error__?: { readonly error: string; readonly message: string };
}

describe('a node that computes for seconds', () => {
  let thread_id: string;
  let run_id: string;
  let neighbour: Thread;
  let slow: Run;
  beforeAll(async () => {
    ({ thread_id } = await client.threads.create());
    neighbour = await client.threads.create();
    slow = await client.runs.create(neighbour.thread_id, 'slow', { input: { waitMs: 500 } });
    ({ run_id } = await client.runs.create(thread_id, 'hostile', { input: { act: 'block:600000' } }));
  });

  it('delays neither health, the database nor other requests', async () => {
    await waitFor(async () => (await client.runs.get(thread_id, run_id)).status === 'running');
    for (let n = 0; n < 20; n++) {
      await expectOk();
      await client.threads.create();
    }
    expect((await client.runs.get(thread_id, run_id)).status).toBe('running');
  });

  itLong('leaves its place to a host that has loaded, where other runs end', async () => {
    await waitFor(() => server.log.some(({ msg }) => msg.includes('one that has loaded takes its place')), {
      what: 'the other host',
    });
    const other = await client.threads.create();
    const answer = await client.runs.wait(other.thread_id, 'slow', { input: { waitMs: 10 } });
    expect(answer).toMatchObject({ steps: ['first', 'second', 'third'] });
    expect((await client.runs.get(thread_id, run_id)).status).toBe('running');
  });

  it('shows its run, node and line when it computes for longer, and ends when its run is cancelled', async () => {
    const isHang = (line: { msg: string }): boolean =>
      line.msg === 'graph host hangs' && JSON.stringify(line).includes(run_id);
    const hang = await waitFor(() => server.log.find(isHang), { what: 'the place where the host hangs' });
    expect(hang).toMatchObject({
      runId: run_id,
      node: 'perform',
      stack: expect.stringMatching(/block \(hostile\.ts/),
    });
    const note = await waitFor(
      async () => ((await (await fetch(`${server.url}/ok`)).json()) as { note?: string }).note,
      { what: 'a note at /ok' },
    );
    expect(note).toMatch(/graph host has not answered for \d+ s/);
    await client.runs.cancel(thread_id, run_id);
    await waitFor(async () => (await client.runs.get(thread_id, run_id)).status === 'interrupted', {
      what: 'the cancelled run to end',
    });
    await client.runs.join(neighbour.thread_id, slow.run_id);
    const { values } = await client.threads.getState<{ steps: string[] }>(neighbour.thread_id);
    expect(values.steps).toEqual(['first', 'second', 'third']);
  });
});

/** A run that kills its process, among others that do nothing. */
async function crashBeside(other: ServerProcess): Promise<void> {
  const client = other.client();
  const beside = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { thread_id } = await client.threads.create();
      return { thread_id, ended: client.runs.wait(thread_id, 'slow', { input: { waitMs: 700 } }) };
    }),
  );
  const killer = (await client.runs.wait(null, 'fatal', { input: {}, raiseError: false })) as Answer;
  expect(killer.__error__).toMatchObject({ error: 'ServerLost' });
  for (const { thread_id, ended } of beside) {
    expect(await ended).toMatchObject({ steps: ['first', 'second', 'third'] });
    const [run] = await client.runs.list(thread_id);
    expect(run?.status).toBe('success');
  }
  expect(other.log.filter(({ msg }) => msg.startsWith('graph host ended'))).not.toHaveLength(0);
}

describe('a graph host that ends', () => {
  itLong('costs the run that ended it its attempts, and those beside it none', async () => {
    const server = await ServerProcess.start({ uri, env: { AGENTPLANE_RUN_MAX_TAKEOVERS: '1' } });
    try {
      await crashBeside(server);
    } finally {
      await server.stop('SIGKILL');
    }
  });

  it('hands its run to the next host when it is killed', async () => {
    const [host] = hostsOf(server.child.pid);
    const { thread_id } = await client.threads.create();
    const run = client.runs.wait(thread_id, 'slow', { input: { waitMs: 600 } });
    await waitFor(async () => (await client.runs.list(thread_id, { status: 'running' })).length === 1);
    process.kill(host ?? 0, 'SIGKILL');
    expect(await run).toMatchObject({ steps: expect.arrayContaining(['first', 'second', 'third']) });
    expect(hostsOf(server.child.pid)).not.toContain(host);
  });

  it('outlives no server, even in the middle of a computation', async () => {
    const env = { AGENTPLANE_RUN_LEASE_MS: '600000' }; // no other server takes the run over
    const other = await ServerProcess.start({ uri, env });
    const [host] = hostsOf(other.child.pid);
    expect(host).toBeDefined();
    const { thread_id } = await other.client().threads.create();
    await other.client().runs.create(thread_id, 'hostile', { input: { act: 'block:600000' } });
    await waitFor(async () => (await client.runs.list(thread_id, { status: 'running' })).length === 1);
    await other.stop('SIGKILL');
    await waitFor(() => !isAlive(host ?? 0), { what: 'the end of the host' });
  });
});

describe('a graph that computes without end while it loads', () => {
  itLong('shows its line through a server that answers', async () => {
    const path = join(folder, 'spins');
    mkdirSync(path);
    writeFileSync(join(path, 'langgraph.json'), JSON.stringify({ graphs: { agent: './agent.ts:graph' } }));
    writeFileSync(
      join(path, 'agent.ts'),
      [
        'type Nothing = { readonly nothing: true };',
        'function spin(end: number): void {',
        '  while (performance.now() < end);',
        '}',
        'spin(performance.now() + 20_000);',
      ].join('\n'),
    );
    const port = String(20_000 + Math.floor(Math.random() * 20_000));
    const started = ServerProcess.startAndEnd({ uri, folder: path, env: { PORT: port } });
    const detail = await waitFor(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/ok`).catch(() => undefined);
        const body = (await answer?.json()) as { detail?: string } | undefined;
        return body?.detail?.includes('executes') ? body.detail : undefined;
      },
      { what: 'the name of what hangs' },
    );
    expect(detail).toMatch(
      /graph "agent" has been loading for \d+ s; it is in agent\.ts, which executes .*spin \(agent\.ts:3/,
    );
    expect(await started).toBe(78);
  });
});
