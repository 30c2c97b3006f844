import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import { ChangedDeployment } from '../support/changed-deployment.js';
import { HeldStream, type StreamPart } from '../support/held-stream.js';
import { inParallel } from '../support/in-parallel.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { RequestLoad } from '../support/request-load.js';
import { Rest } from '../support/rest.js';

const AGENT = join(import.meta.dirname, 'testdata', 'pacing-agent');

/** How much of everything. */
export interface ZeroDowntimeSize {
  readonly requests: number;
  readonly callers: number;
  readonly streams: number;
  /** Milliseconds of each step of a run. */
  readonly stepMs: number;
  /** New revisions that take over, beside those that fail, are cancelled or go back. */
  readonly changes: number;
}

/** The same agent, whose graphs do not load. */
function brokenCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-broken-'));
  cpSync(AGENT, folder, { recursive: true });
  appendFileSync(join(folder, 'graphs.ts'), "throw new Error('no model is configured');\n");
  return folder;
}

/** Of each attempt the events as they were numbered, none missing, none twice. */
function attemptsOf(heard: readonly StreamPart[]): Map<number, readonly StreamPart[]> {
  const attempts = new Map<number, StreamPart[]>();
  for (const part of heard) {
    const [attempt = 0, number = 0] = part.id.split('-').map(Number);
    const seen = attempts.get(attempt) ?? [];
    expect([part.id, number]).toEqual([part.id, seen.length]);
    attempts.set(attempt, [...seen, part]);
  }
  return attempts;
}

/**
 * Every step is heard, in order, and none is left out.
 * @returns how many steps an attempt began again that the one before had ended, and not only begun
 */
function expectWhole({ heard }: HeldStream, steps: number): number {
  const attempts = attemptsOf(heard);
  const numbers = [...attempts.keys()];
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  let [next, repeated] = [0, 0];
  for (const parts of attempts.values()) {
    expect(parts[0]?.event).toBe('metadata');
    const said = parts.filter(({ event }) => event === 'custom').map(({ data }) => Number(data['step']));
    const [first = next] = said;
    expect(first).toBeLessThanOrEqual(next);
    repeated += Math.max(0, next - 1 - first);
    expect(said).toEqual(said.map((_step, at) => first + at));
    next = first + said.length;
  }
  expect(next).toBe(steps);
  expect(heard.at(-1)).toMatchObject({ event: 'values', data: { steps } });
  return repeated;
}

/** Declares the test of one size: a platform of this machine, requests and held streams during its rollouts. */
export function itHasNoDowntime(size: ZeroDowntimeSize, withinMs: number): void {
  const dataFolder = newDataFolder();
  const broken = brokenCopy();
  let platform: Platform;
  let deployment: ChangedDeployment;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    for (const [image, folder] of [
      ['pacing', AGENT],
      ['broken', broken],
    ] as const) {
      const added = await agentplane(['image', 'add', image, folder, '--data', dataFolder]);
      if (added.code !== 0) throw new Error(`image add exited with ${added.code}: ${added.complaint}`);
    }
    deployment = await ChangedDeployment.create(new Rest(platform.credentials), 'pacing', {
      // as many runs at a time as there are streams
      secrets: [{ name: 'N_JOBS_PER_WORKER', value: String(2 * size.streams) }],
    });
  });

  afterAll(async () => {
    await platform?.stop();
    removeDataFolder(dataFolder);
    rmSync(broken, { recursive: true, force: true });
  });

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch((await deployment.url()) + path, {
      method,
      headers: headersOf(platform, body !== undefined),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  interface Held {
    readonly path: string;
    readonly stream: HeldStream;
  }

  /** Runs that go on until `over` is in the store, each with a reader. */
  async function holdStreams(): Promise<readonly Held[]> {
    const held: Held[] = [];
    const url = await deployment.url();
    const numbers = Array.from({ length: size.streams }, (_none, at) => at);
    await inParallel(numbers, 10, async () => {
      const { thread_id: thread } = await call<{ thread_id: string }>('POST', '/threads', {});
      const { run_id: run } = await call<{ run_id: string }>('POST', `/threads/${thread}/runs`, {
        assistant_id: 'pacing',
        input: { steps: 0, waitMs: size.stepMs },
        stream_mode: ['custom', 'values'],
        stream_resumable: true,
        config: { recursion_limit: 10_000 },
      });
      const stream = new HeldStream(`${url}/threads/${thread}/runs/${run}`, headersOf(platform));
      // looked at with the others
      stream.done.catch(() => undefined);
      held.push({ path: `/threads/${thread}`, stream });
    });
    return held;
  }

  async function rollOut(): Promise<void> {
    const special = Math.floor(size.changes / 2);
    for (let at = 0; at < size.changes; at++) {
      if (at === special) {
        const former = await deployment.active();
        await deployment.change();
        await deployment.fail('broken');
        await deployment.cancel();
        await deployment.rollBack(former);
      } else await deployment.change();
    }
  }

  it('answers every request and loses no event of a stream while revisions take over, fail, are cancelled and go back', async () => {
    const held = await holdStreams();
    await waitFor(() => held.every(({ stream }) => stream.heard.length > 0), {
      timeoutMs: withinMs,
      what: 'all streams to begin',
    });
    const load = new RequestLoad(await deployment.url(), headersOf(platform), {
      callers: size.callers,
      pauseMs: 50,
    });
    await rollOut();
    await waitFor(() => load.asked >= size.requests, { timeoutMs: withinMs, what: 'all requests' });
    // a server that was replaced hands its runs to another
    await waitFor(() => held.every(({ stream }) => stream.resumed > 0), {
      timeoutMs: withinMs,
      what: 'all streams to lose their server',
    });
    const seen = await load.stop();
    await call('PUT', '/store/items', { namespace: ['pacing'], key: 'over', value: { isOver: true } });
    await Promise.all(held.map(({ stream }) => stream.done));
    const resumed = held.map(({ stream }) => stream.resumed);
    process.stderr.write(
      `${seen.asked} requests, ${seen.failures.length} failed, p50 ${Math.round(seen.p50Ms)} ms, ` +
        `slowest ${Math.round(seen.slowestMs)} ms; ${held.length} streams of ` +
        `${held.reduce((sum, { stream }) => sum + stream.heard.length, 0)} events, resumed ` +
        `${Math.min(...resumed)} to ${Math.max(...resumed)} times\n`,
    );
    expect(seen.failures).toEqual([]);
    let repeated = 0;
    for (const { path, stream } of held) {
      const { values } = await call<{ values: { steps: number } }>('GET', `${path}/state`);
      repeated += expectWhole(stream, values.steps);
    }
    process.stderr.write(`${repeated} steps that had ended were performed again\n`);
  });
}

function headersOf(platform: Platform, hasBody = false): Record<string, string> {
  const key = { 'x-api-key': platform.credentials.apiKey };
  return hasBody ? { ...key, 'content-type': 'application/json' } : key;
}
