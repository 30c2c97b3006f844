import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../../apps/agent-server/testdata/start-server.js';

const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
if (!python)
  process.stderr.write('SKIPPED: workers in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

const folder = join(import.meta.dirname, '..', '..', 'apps', 'agent-server', 'testdata', 'python-agent');

function workersOf({ child }: ServerProcess): number[] {
  const found = execFileSync('pgrep', ['-P', String(child.pid), '-f', 'agent-server/python graphs'], {
    encoding: 'utf8',
  });
  return found.trim().split('\n').map(Number);
}

/** What happens to the workers of an agent while runs are at work. */
(python ? describe : describe.skip)('an agent with workers in Python', () => {
  const postgres = testPostgres();
  const running: ServerProcess[] = [];

  const start = async (uri: string, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> => {
    const server = await ServerProcess.start({ uri, folder, env: { AGENTPLANE_PYTHON: python, ...env } });
    running.push(server);
    return server;
  };

  afterEach(() => Promise.all(running.splice(0).map((server) => server.stop())));

  it('loses no run and performs none twice when one worker is killed in a loop', async () => {
    const { uri } = await postgres.freshDatabase();
    const server = await start(uri, { AGENTPLANE_GRAPH_HOSTS: '2' });
    const client = server.client();
    const threads = await Promise.all(Array.from({ length: 24 }, () => client.threads.create()));
    const ids = threads.map(({ thread_id: id }) => id);
    const runs = await Promise.all(ids.map((id) => client.runs.create(id, 'slow', { input: { ms: 700 } })));
    for (let kill = 0; kill < 6; kill++) {
      await sleep(900);
      const [worker] = await waitFor(() => workersOf(server), { what: 'a worker' });
      try {
        process.kill(worker ?? 0, 'SIGKILL');
      } catch {
        // it ended meanwhile
      }
    }
    await Promise.all(ids.map((id, at) => client.runs.join(id, runs[at]?.run_id ?? '')));
    const ends = await Promise.all(
      ids.map(async (id, at) => {
        const { status } = await client.runs.get(id, runs[at]?.run_id ?? '');
        const { values } = await client.threads.getState<{ steps?: string[] }>(id);
        return [status, values.steps];
      }),
    );
    // a step that is repeated would stand there twice
    expect(ends).toEqual(ids.map(() => ['success', ['first', 'second']]));
    expect(server.log.filter(({ msg }) => msg.startsWith('graph host ended')).length).toBeGreaterThan(2);
  });

  it('serves runs of one worker while another computes without a pause', async () => {
    const { uri } = await postgres.freshDatabase();
    const server = await start(uri, { AGENTPLANE_GRAPH_HOSTS: '2' });
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const { run_id: runId } = await client.runs.create(id, 'computes', { input: { text: '' } });
    await waitFor(async () => (await client.runs.get(id, runId)).status === 'running', { what: 'the run' });
    // a worker that was silent for 2.5 s is given no further run
    await sleep(4_000);
    const values = await Promise.all(
      Array.from({ length: 12 }, () => client.runs.wait(null, 'shouts', { input: { text: 'a' } })),
    );
    expect(values).toEqual(values.map(() => ({ text: 'A' })));
    await client.runs.cancel(id, runId, false);
    await waitFor(async () => (await client.runs.get(id, runId)).status === 'interrupted', {
      what: 'the end of the run',
      timeoutMs: 30_000,
    });
    expect(server.log.some(({ msg }) => msg === 'graph host hangs')).toBe(true);
  });

  it('serves runs while a worker is stopped, whose runs go on once it continues', async () => {
    const { uri } = await postgres.freshDatabase();
    const server = await start(uri, { AGENTPLANE_GRAPH_HOSTS: '2' });
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const ended = client.runs.wait(id, 'slow', { input: { ms: 2_000 } });
    const [worker] = workersOf(server);
    process.kill(worker ?? 0, 'SIGSTOP');
    try {
      await sleep(3_000);
      const values = await Promise.all(
        Array.from({ length: 8 }, () => client.runs.wait(null, 'shouts', { input: { text: 'a' } })),
      );
      expect(values).toEqual(values.map(() => ({ text: 'A' })));
    } finally {
      process.kill(worker ?? 0, 'SIGCONT');
    }
    expect(await ended).toEqual({ ms: 2_000, steps: ['first', 'second'] });
  });

  it('hands back what is at work when its server drains, and another server finishes it', async () => {
    const { uri } = await postgres.freshDatabase();
    const first = await start(uri, { AGENTPLANE_DRAIN_MS: '300' });
    const client = first.client();
    const { thread_id: id } = await client.threads.create();
    await client.runs.create(id, 'slow', { input: { ms: 2_500 } });
    await waitFor(
      async () => (await client.threads.getState<{ steps?: string[] }>(id)).values.steps?.length === 1,
      { what: 'the first step' },
    );
    await first.stop();
    const second = await start(uri);
    await waitFor(async () => (await second.client().threads.get(id)).status === 'idle', {
      what: 'the end of the run',
      timeoutMs: 30_000,
    });
    const { values } = await second.client().threads.getState<{ steps: string[] }>(id);
    expect(values.steps).toEqual(['first', 'second']);
  });
});
