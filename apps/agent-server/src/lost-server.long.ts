import { itLong, quietFor, testPostgres, temporaryFolder, waitFor } from '#lib/testing';
import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Client } from '@langchain/langgraph-sdk';
import pg from 'pg';
import { ServerProcess } from '../testdata/start-server.js';

const LEASE_MS = 800;

const postgres = testPostgres();
const folder = temporaryFolder();
const started: ServerProcess[] = [];
let uri: string;
let files = 0;

beforeEach(async () => {
  uri = (await postgres.freshDatabase()).uri;
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop('SIGKILL')));
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start({
    uri,
    env: { AGENTPLANE_RUN_LEASE_MS: String(LEASE_MS), ...env },
  });
  started.push(server);
  return server;
}

function newFile(): string {
  return join(folder, `steps-${files++}`);
}

/** Attempts of each step, as `STEP attempt`. */
function stepsIn(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.replace(/ \S+ /, ' '));
}

function reached(file: string, line: string): Promise<boolean> {
  return waitFor(() => stepsIn(file).includes(line), {
    what: `${line} in ${stepsIn(file).join(', ')}`,
  });
}

async function query<T>(text: string, values: unknown[] = []): Promise<T[]> {
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  try {
    return (await client.query(text, values)).rows as T[];
  } finally {
    await client.end();
  }
}

interface RunRow {
  readonly status: string;
  readonly attempt: number;
}

async function runRow(runId: string): Promise<RunRow | undefined> {
  return (await query<RunRow>('SELECT status, attempt FROM agentplane.runs WHERE run_id = $1', [runId]))[0];
}

/** Source, step and attempt of every checkpoint of a thread, oldest first. */
function checkpoints(threadId: string): Promise<{ step: number; attempt: number }[]> {
  return query(
    `SELECT (metadata ->> 'step')::int AS step, (metadata ->> 'run_attempt')::int AS attempt
     FROM agentplane.checkpoints WHERE thread_id = $1 ORDER BY checkpoint_id`,
    [threadId],
  );
}

/** A step may begin while the checkpoint of the one before is still on its way into the database. */
function stored(threadId: string, step: number): Promise<boolean> {
  return waitFor(async () => (await checkpoints(threadId)).some((one) => one.step === step), {
    what: `the checkpoint of step ${step}`,
  });
}

function ended(runId: string, timeoutMs = 30_000): Promise<RunRow> {
  return waitFor(
    async () => {
      const row = await runRow(runId);
      return row && !['pending', 'running'].includes(row.status) && row;
    },
    { timeoutMs, what: `the end of ${runId}` },
  );
}

/** Kills a server once the checkpoint of a step is stored, while the end of its run cannot be. */
async function killBeforeTheEnd(server: ServerProcess, threadId: string, step: number): Promise<void> {
  const holder = new pg.Client({ connectionString: uri });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM agentplane.threads WHERE thread_id = $1 FOR UPDATE', [threadId]);
    await stored(threadId, step);
    await waitFor(
      async () =>
        (
          await query(
            `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%finish_run%'`,
          )
        ).length > 0,
      { what: 'the end of the run, which waits' },
    );
    server.signal('SIGKILL');
    await server.exited;
    // it would continue alone otherwise
    await holder.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE '%finish_run%'`);
  } finally {
    await holder.end();
  }
}

describe('a run whose server is killed', () => {
  it('continues at another as attempt 2, with each checkpoint once', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const input = { waitMs: 1_500, file };
    const { run_id } = await first.client().runs.create(thread_id, 'slow', { input });
    await reached(file, 'second 1');
    await stored(thread_id, 1);
    first.signal('SIGKILL');
    expect(await ended(run_id)).toEqual({ status: 'success', attempt: 2 });
    expect(stepsIn(file)).toEqual(['first 1', 'second 1', 'second 2', 'third 2']);
    const state = await second.client().threads.getState<{ steps: string[] }>(thread_id);
    expect(state.values.steps).toEqual(['first', 'second', 'third']);
    expect((await checkpoints(thread_id)).map(({ step }) => step)).toEqual([-1, 0, 1, 2, 3]);
    expectHandOver(await checkpoints(thread_id));
  });

  it('repeats nothing when its end was about to be recorded', async () => {
    const first = await start();
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const { run_id } = await first.client().runs.create(thread_id, 'slow', { input: { waitMs: 200, file } });
    await reached(file, 'first 1');
    await killBeforeTheEnd(first, thread_id, 3);
    const second = await start();
    expect(await ended(run_id)).toEqual({ status: 'success', attempt: 2 });
    expect(stepsIn(file)).toEqual(['first 1', 'second 1', 'third 1']);
    expect(await second.client().runs.join(thread_id, run_id)).toMatchObject({
      steps: ['first', 'second', 'third'],
    });
  });

  type Stop = Omit<Parameters<Client['runs']['create']>[2] & object, 'input'> & { readonly input?: null };

  async function expectWaiting(_title: string, options: Stop): Promise<void> {
    const first = await start();
    const file = newFile();
    const client = first.client();
    const { thread_id } = await client.threads.create();
    const input = { waitMs: 200, file };
    // the third continues where another run stopped: it stops after one more step
    if ('input' in options) await client.runs.wait(thread_id, 'slow', { input, interruptBefore: ['first'] });
    const { run_id } = await client.runs.create(thread_id, 'slow', { input, ...options });
    await reached(file, 'first 1');
    await killBeforeTheEnd(first, thread_id, 1);
    const second = await start();
    expect(await ended(run_id)).toEqual({ status: 'success', attempt: 2 });
    expect(stepsIn(file)).toEqual(['first 1']);
    expect(await second.client().threads.get(thread_id)).toMatchObject({
      status: 'interrupted',
      values: { steps: ['first'] },
    });
    expect(await second.client().runs.wait(thread_id, 'slow', { input: null })).toMatchObject({
      steps: ['first', 'second', 'third'],
    });
  }
  const name = 'still waits for a person when it had stopped %s a node';
  it.each([['before', { interruptBefore: ['second'] }]])(name, expectWaiting);
  itLong.each<[string, Stop]>([
    ['after', { interruptAfter: ['first'] }],
    ['before any', { interruptBefore: '*', input: null }],
  ])(name, expectWaiting);

  it('keeps its thread to itself until it has ended', async () => {
    const first = await start();
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const input = { waitMs: 300, file };
    const { run_id } = await first.client().runs.create(thread_id, 'slow', { input });
    const later = await first.client().runs.create(thread_id, 'counter', { input: {} });
    await reached(file, 'first 1');
    first.signal('SIGKILL');
    const second = await start();
    expect(await second.client().runs.join(thread_id, later.run_id)).toMatchObject({
      steps: ['first', 'second', 'third', 'step 4'],
    });
    expect(await runRow(run_id)).toEqual({ status: 'success', attempt: 2 });
    expect(await runRow(later.run_id)).toEqual({ status: 'success', attempt: 1 });
  });

  it('fails when it ends every process that it is given, and nothing else does', async () => {
    const server = await start({ AGENTPLANE_RUN_MAX_TAKEOVERS: '1' });
    const { thread_id } = await server.client().threads.create();
    const { run_id } = await server.client().runs.create(thread_id, 'fatal', { input: {} });
    expect(await ended(run_id)).toEqual({ status: 'error', attempt: 2 });
    expect(server.child.exitCode).toBeNull();
    await expect(server.client().runs.wait(thread_id, 'counter', { input: {} })).resolves.toHaveProperty(
      'steps',
    );
  });
});

function nodesOf(update: unknown): string {
  return Object.keys(update as object).join();
}

/**
 * Expects all checkpoints of the first server before those of the second; their number depends on the moment
 * of its end.
 */
function expectHandOver(seen: readonly { attempt: unknown }[]): void {
  const attempts = seen.map(({ attempt }) => Number(attempt));
  expect(attempts).toEqual([...attempts].sort());
  expect([attempts[0], attempts.at(-1)]).toEqual([1, 2]);
}

describe('a server that was suspended for longer than its leases', () => {
  it('writes nothing more of a run that another took over', async () => {
    const [first] = await Promise.all([start(), start()]);
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const input = { waitMs: 1_500, file };
    const { run_id } = await first.client().runs.create(thread_id, 'slow', { input });
    await reached(file, 'second 1');
    await stored(thread_id, 1);
    first.signal('SIGSTOP');
    await reached(file, 'second 2');
    first.signal('SIGCONT'); // both are at it now, and the first is ahead
    expect(await ended(run_id)).toEqual({ status: 'success', attempt: 2 });
    await waitFor(() => first.log.some((line) => line.msg === 'run lost'), {
      what: 'the first to notice',
    });
    const seen = await checkpoints(thread_id);
    expect(seen.map(({ step }) => step)).toEqual([-1, 0, 1, 2, 3]);
    expectHandOver(seen);
    const state = await first.client().threads.getState<{ steps: string[] }>(thread_id);
    expect(state.values.steps).toEqual(['first', 'second', 'third']);
  });

  it('shows its readers nothing before it knows that the run is still its own', async () => {
    const [first] = await Promise.all([start(), start()]);
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const heard: string[] = [];
    const reading = (async () => {
      const stream = first.client().runs.stream(thread_id, 'slow', {
        input: { waitMs: 1_500, file },
        streamMode: ['updates'],
      });
      for await (const { event, data } of stream)
        heard.push(
          event === 'metadata'
            ? `attempt ${(data as unknown as { attempt: number }).attempt}`
            : nodesOf(data),
        );
    })();
    await reached(file, 'second 1');
    await stored(thread_id, 1);
    first.signal('SIGSTOP');
    await reached(file, 'second 2');
    await reached(file, 'third 2'); // the step of the first is over when it wakes
    first.signal('SIGCONT');
    await reading;
    expect(heard.slice(0, 3)).toEqual(['attempt 1', 'first', 'attempt 2']);
    expect(heard.at(-1)).toBe('third');
  });

  it('keeps its readers, who get the rest from the server at work', async () => {
    const [first] = await Promise.all([start(), start()]);
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const input = { waitMs: 1_500, file };
    const values = first.client().runs.wait(thread_id, 'slow', { input });
    await reached(file, 'second 1');
    await stored(thread_id, 1);
    first.signal('SIGSTOP');
    await reached(file, 'second 2');
    first.signal('SIGCONT');
    expect(await values).toMatchObject({ steps: ['first', 'second', 'third'] });
    expect(stepsIn(file).at(-1)).toBe('third 2');
  });

  it('loses nothing when all servers were suspended', async () => {
    // The server that wakes first waits one lease before it judges: on a loaded machine the other may take a
    // while to wake
    const leaseMs = 4_000;
    const env = { AGENTPLANE_RUN_LEASE_MS: String(leaseMs) };
    const servers = await Promise.all([start(env), start(env)]);
    const file = newFile();
    const client = servers[0]?.client();
    const { thread_id } = (await client?.threads.create()) ?? { thread_id: '' };
    const input = { waitMs: 400, file };
    const run = await client?.runs.create(thread_id, 'slow', { input });
    await reached(file, 'first 1');
    for (const server of servers) server.signal('SIGSTOP');
    const overdue = 'SELECT 1 FROM agentplane.runs WHERE run_id = $1 AND lease_until < clock_timestamp()';
    await waitFor(async () => (await query(overdue, [run?.run_id])).length > 0);
    for (const server of servers.reverse()) server.signal('SIGCONT');
    expect(await ended(run?.run_id ?? '')).toEqual({ status: 'success', attempt: 1 });
    expect(stepsIn(file)).toEqual(['first 1', 'second 1', 'third 1']);
  });
});

describe('one of two servers', () => {
  it('shows the output of the other', async () => {
    const [first, second] = await Promise.all([start({ N_JOBS_PER_WORKER: '1' }), start()]);
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const input = { waitMs: 400, file };
    const run = await first.client().runs.create(thread_id, 'slow', { input, streamMode: ['updates'] });
    await reached(file, 'first 1');
    const events: { event: string; data: unknown }[] = [];
    for await (const event of second.client().runs.joinStream(thread_id, run.run_id)) events.push(event);
    expect(events[0]).toMatchObject({ event: 'metadata', data: { run_id: run.run_id, attempt: 1 } });
    expect(events.map((event) => Object.keys(event.data as object)[0]).slice(-2)).toEqual([
      'second',
      'third',
    ]);
    // A run that waits here and is executed there
    await first.client().runs.create(null, 'slow', { input: { waitMs: 1_000_000 } });
    expect(await first.client().runs.wait(null, 'counter', { input: {} })).toMatchObject({
      steps: ['step 1'],
    });
  });

  it('starts on the same empty database at the same time', async () => {
    const servers = await Promise.all([start(), start(), start()]);
    for (const server of servers) expect((await fetch(`${server.url}/ok`)).status).toBe(200);
  });

  it('cancels a run at the other', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const run = await first.client().runs.create(thread_id, 'slow', { input: { waitMs: 20_000, file } });
    await reached(file, 'first 1');
    await second.client().runs.cancel(thread_id, run.run_id, true);
    expect(await runRow(run.run_id)).toEqual({ status: 'interrupted', attempt: 1 });
  });
});

describe('a server that stops', () => {
  it('lets its runs finish, serves those who wait, and reports that it is not ready', async () => {
    const first = await start();
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const values = first.client().runs.wait(thread_id, 'slow', { input: { waitMs: 300, file } });
    await reached(file, 'first 1');
    first.signal('SIGTERM');
    await waitFor(async () => (await fetch(`${first.url}/ok`)).status === 503);
    expect(await values).toMatchObject({ steps: ['first', 'second', 'third'] });
    await first.exited;
    expect(first.child.exitCode).toBe(0);
  });

  it('sends a finished result to the end to a slow client', async () => {
    const first = await start();
    const chars = 20_000_000;
    const { thread_id } = await first.client().threads.create();
    const sent = request(`${first.url}/threads/${thread_id}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    sent.end(JSON.stringify({ assistant_id: 'growing', input: { act: String(chars) } }));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause();
    // its head is sent before the result when the run takes longer than a heartbeat
    await waitFor(async () => (await first.client().threads.get(thread_id)).status === 'idle');
    first.signal('SIGTERM');
    await waitFor(() => first.log.some((line) => line.msg === 'stopping'));
    // no run is in progress any more: only this answer keeps the server
    await quietFor(300);
    let length = 0;
    for await (const part of response) length += (part as Buffer).length;
    expect(length).toBeGreaterThan(chars);
    await first.exited;
    expect(first.child.exitCode).toBe(0);
  });

  it('cuts off those who wait for a run that continues elsewhere', async () => {
    const first = await start({ AGENTPLANE_DRAIN_MS: '50' });
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const values = first.client().runs.wait(thread_id, 'slow', { input: { waitMs: 20_000, file } });
    const broken = expect(values).rejects.toThrow();
    await reached(file, 'first 1');
    first.signal('SIGTERM');
    await broken;
    await first.exited;
    expect(first.child.exitCode).toBe(0);
  });

  it('answers those who wait for a run that another server continues after the drain', async () => {
    const first = await start({ AGENTPLANE_DRAIN_MS: '50', AGENTPLANE_SETTLE_MS: '20000' });
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const values = first.client().runs.wait(thread_id, 'slow', { input: { waitMs: 1_000, file } });
    await reached(file, 'first 1');
    first.signal('SIGTERM');
    await start();
    expect(await values).toMatchObject({ steps: ['first', 'second', 'third'] });
    await first.exited;
    expect(stepsIn(file).at(-1)).toBe('third 2');
  });

  it('hands back what takes too long, and another continues at once', async () => {
    const env = { AGENTPLANE_DRAIN_MS: '50', AGENTPLANE_RUN_LEASE_MS: '60000' };
    const [first] = await Promise.all([start(env), start(env)]);
    const file = newFile();
    const { thread_id } = await first.client().threads.create();
    const { run_id } = await first
      .client()
      .runs.create(thread_id, 'slow', { input: { waitMs: 1_500, file } });
    await reached(file, 'second 1');
    await stored(thread_id, 1);
    first.signal('SIGTERM');
    expect(await ended(run_id)).toEqual({ status: 'success', attempt: 2 });
    expect(stepsIn(file)).toEqual(['first 1', 'second 1', 'second 2', 'third 2']);
  });
});
