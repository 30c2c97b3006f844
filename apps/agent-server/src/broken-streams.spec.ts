import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from '@jest/globals';
import { Client } from '@langchain/langgraph-sdk';
import { itLong, pythonWith, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { ServerSwitch } from '../testdata/server-switch.js';

const LEASE_MS = 1_000;
const TICKS = 40;
const READ_STREAM = join(import.meta.dirname, '..', 'testdata', 'read-stream.py');

/** A Python with `langgraph-sdk`. */
const python = pythonWith('langgraph_sdk');

interface Heard {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

const postgres = testPostgres();
/** Servers by their variables, on one database: a test ends one at most, and the next test takes what is left. */
const servers = new Map<string, ServerProcess[]>();
const switches: ServerSwitch[] = [];
let uri: string;

beforeAll(async () => {
  ({ uri } = await postgres.freshDatabase(prepareDatabase));
});
afterEach(() => Promise.all(switches.splice(0).map((one) => one.stop())));
afterAll(() => Promise.all([...servers.values()].flat().map((one) => one.stop('SIGKILL'))));

const ended = new Set<ServerProcess>();

function end(server: ServerProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  ended.add(server);
  server.signal(name);
}

/** Two of these variables that no test ended; those of others would take runs. */
async function pair(env: Readonly<Record<string, string>>): Promise<readonly [ServerProcess, ServerProcess]> {
  const name = JSON.stringify(env);
  for (const [other, left] of servers)
    if (other !== name) {
      await Promise.all(left.map((one) => one.stop('SIGKILL')));
      servers.delete(other);
    }
  const left = (servers.get(name) ?? []).filter((one) => !ended.has(one));
  const start = (): Promise<ServerProcess> => ServerProcess.start({ uri, env });
  const [first, second] = await Promise.all([left[0] ?? start(), left[1] ?? start()]);
  servers.set(name, [first, second]);
  return [first, second];
}

interface Replicas {
  readonly first: ServerProcess;
  readonly second: ServerProcess;
  readonly address: ServerSwitch;
}

/** Two servers on one database behind one address, which leads to the first. */
async function replicas(env: Readonly<Record<string, string>> = {}): Promise<Replicas> {
  const [first, second] = await pair({ AGENTPLANE_RUN_LEASE_MS: String(LEASE_MS), ...env });
  const address = await ServerSwitch.start(first.port);
  switches.push(address);
  return { first, second, address };
}

const OPTIONS = { input: { count: TICKS, waitMs: 50 }, stream_mode: ['custom', 'values'] };

/** Events received by a client without special code for broken connections. */
interface Listener {
  readonly heard: Heard[];
  readonly done: Promise<void>;
}
type Listen = (url: string, threadId: string | null) => Listener;

const listenInJavaScript: Listen = (url, threadId) => {
  const heard: Heard[] = [];
  const client = new Client({ apiUrl: url, apiKey: null });
  const read = async (): Promise<void> => {
    const { input } = OPTIONS;
    const streamMode = ['custom' as const, 'values' as const];
    // one signature for each kind of thread
    const stream = threadId
      ? client.runs.stream(threadId, 'ticking', { input, streamMode })
      : client.runs.stream(null, 'ticking', { input, streamMode });
    // the SDK's types leave the id out
    for await (const part of stream) heard.push(part as unknown as Heard);
  };
  return { heard, done: read() };
};

const listenInPython: Listen = (url, threadId) => {
  const heard: Heard[] = [];
  const child = spawn(python, [READ_STREAM, url, threadId ?? '', 'ticking', JSON.stringify(OPTIONS)]);
  const errors: string[] = [];
  child.stderr.on('data', (part: Buffer) => errors.push(part.toString()));
  createInterface({ input: child.stdout }).on('line', (line) => heard.push(JSON.parse(line) as Heard));
  const done = new Promise<void>((resolve, reject) =>
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(errors.join('').slice(-2_000))))),
  );
  return { heard, done };
};

function ticksOf(heard: readonly Heard[], attempt: number): unknown[] {
  return heard
    .filter(({ id, event }) => event === 'custom' && id?.startsWith(`${attempt}-`))
    .map(({ data }) => data['tick']);
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_none, tick) => tick);
}

/** Every attempt from its opening, its events numbered without a gap, no event twice. */
function expectNoGap(heard: readonly Heard[], attempts: number): void {
  const counted = new Map<number, number>();
  for (const { id } of heard) {
    const [attempt = 0, n = 0] = (id ?? '').split('-').map(Number);
    expect([id, n]).toEqual([id, counted.get(attempt) ?? 0]);
    counted.set(attempt, n + 1);
  }
  expect([...counted.keys()]).toEqual(Array.from({ length: attempts }, (_none, index) => index + 1));
  const openings = heard.filter(({ event }) => event === 'metadata').map(({ data }) => data['attempt']);
  expect(openings).toEqual([...counted.keys()]);
  expect(ticksOf(heard, attempts)).toEqual(upTo(TICKS));
  expect(heard.at(-1)).toMatchObject({ event: 'values', data: { said: TICKS } });
}

const THREAD: readonly [string, boolean] = ['a thread', false];
const NO_THREAD: readonly [string, boolean] = ['no thread', true];

const CLIENTS: readonly (readonly [string, Listen, boolean])[] = [
  ['JavaScript', listenInJavaScript, true],
  ['Python', listenInPython, python !== ''],
];

describe.each(CLIENTS)('a client in %s in the middle of a stream', (language, listen, isThere) => {
  if (!isThere) {
    it.skip(`needs langgraph-sdk: set AGENTPLANE_TEST_PYTHON to a ${language} that has it`, () => undefined);
    return;
  }

  // how a server breaks off a stream is the same for every client
  const itOften = language === 'JavaScript' ? it : itLong;

  async function listening(
    { first, second, address }: Replicas,
    isStateless: boolean,
  ): Promise<Listener & { readonly threadId: string | null }> {
    const threadId = isStateless ? null : (await first.client().threads.create()).thread_id;
    second.signal('SIGSTOP'); // it would take the run where the first is slower
    const listener = listen(address.url, threadId);
    await waitFor(() => ticksOf(listener.heard, 1).length >= 5);
    second.signal('SIGCONT');
    return { ...listener, threadId };
  }

  async function expectDrained(_title: string, isStateless: boolean): Promise<void> {
    const both = await replicas({ AGENTPLANE_DRAIN_MS: '100' });
    const { heard, done } = await listening(both, isStateless);
    both.address.choose(both.second.port);
    end(both.first, 'SIGTERM');
    await done;
    expectNoGap(heard, 2);
    expect(ticksOf(heard, 1)).toEqual(upTo(ticksOf(heard, 1).length));
  }
  itOften.each([THREAD])('hears all of a run on %s whose server is drained', expectDrained);
  itOften.each([NO_THREAD])('hears all of a run on %s whose server is drained', expectDrained);

  async function expectNext(_title: string, isStateless: boolean): Promise<void> {
    const both = await replicas();
    const { heard, done } = await listening(both, isStateless);
    both.address.choose(both.second.port);
    end(both.first, 'SIGKILL');
    both.address.breakAll();
    await done;
    expectNoGap(heard, 2);
  }
  itOften.each([NO_THREAD])(
    'hears all of the next attempt of a run on %s whose server is killed',
    expectNext,
  );
  itOften.each([THREAD])('hears all of the next attempt of a run on %s whose server is killed', expectNext);

  itOften('hears all of a run that ends while its server is drained, at another', async () => {
    const both = await replicas();
    const { heard, done } = await listening(both, true);
    both.address.choose(both.second.port);
    end(both.first, 'SIGTERM');
    both.address.breakAll();
    await done;
    expectNoGap(heard, 1);
  });

  itOften('goes on at another server while its own works on', async () => {
    const both = await replicas();
    const { heard, done } = await listening(both, false);
    both.address.choose(both.second.port);
    both.address.breakAll();
    await done;
    expectNoGap(heard, 1);
  });

  itOften('goes on at the same server, where the run has ended meanwhile', async () => {
    const both = await replicas();
    const { heard, done } = await listening(both, true);
    both.address.choose(1); // nothing listens there
    both.address.breakAll();
    const runId = String(heard[0]?.data['run_id']);
    const ended = async (): Promise<boolean> => {
      const found = await fetch(`${both.first.url}/runs/${runId}`);
      return ((await found.json()) as { status: string }).status === 'success';
    };
    await waitFor(ended);
    both.address.choose(both.first.port);
    await done;
    expectNoGap(heard, 1);
  });
});
