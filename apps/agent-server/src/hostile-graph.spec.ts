import { itLong, testPostgres, waitFor } from '#lib/testing';
import type { Client } from '@langchain/langgraph-sdk';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';
import { testServer } from '../testdata/test-server.js';

const postgres = testPostgres();
const server = testServer({ env: { LANGSMITH_API_KEY: 'lsv2_a_key_of_the_platform' } });
let uri: string;
let client: Client;

beforeAll(() => {
  ({ uri } = server);
  client = server.client();
});

interface Answer {
  readonly __error__?: { readonly error: string; readonly message: string };
}

async function run(act: string, threadId: string | null = null, more: object = {}): Promise<Answer> {
  const options = { input: { act }, raiseError: false, ...more };
  return (await (threadId === null
    ? client.runs.wait(null, 'hostile', options)
    : client.runs.wait(threadId, 'hostile', options))) as Answer;
}

describe('a graph that throws', () => {
  it.each(['text', 'undefined', 'circular', 'nameless object', 'message that throws'])(
    'something odd (%s) ends its run as an error, at once',
    async (thing) => {
      const { thread_id } = await client.threads.create();
      expect((await run(`throw:${thing}`, thread_id)).__error__).toEqual({
        error: expect.any(String),
        message: expect.any(String),
      });
      const [only] = await client.runs.list(thread_id);
      expect(only?.status).toBe('error');
      const { metadata } = await client.threads.getState(thread_id);
      expect(metadata).toMatchObject({ run_attempt: 1 });
      expect((await run(`throw:${thing}`)).__error__?.error).not.toBe('ServerLost');
    },
  );

  it('shows callers no secret of its server', async () => {
    const { thread_id } = await client.threads.create();
    const answer = await run('throw:secret', thread_id);
    const events: unknown[] = [];
    for await (const event of client.runs.stream(null, 'hostile', {
      input: { act: 'throw:secret' },
      streamMode: ['values', 'debug', 'tasks', 'events'],
    }))
      events.push(event);
    const state = await client.threads.getState(thread_id);
    const everything = JSON.stringify([answer, events, state, await client.threads.get(thread_id)]);
    expect(answer.__error__?.message).toContain('cannot connect to');
    for (const secret of [uri, new URL(uri).password, 'lsv2_a_key_of_the_platform'])
      expect(everything).not.toContain(secret);
  });
});

describe('a graph whose state has no JSON', () => {
  it.each(['function', 'symbol', 'undefined', 'circular', 'nul', 'lone surrogate'])(
    'leaves a thread that can be read and used (%s)',
    async (thing) => {
      const { thread_id } = await client.threads.create();
      expect(await run(`value:${thing}`, thread_id)).not.toHaveProperty('__error__');
      expect((await client.threads.getState<{ act: string }>(thread_id)).values.act).toBe(`value:${thing}`);
      expect(await client.threads.getHistory(thread_id)).toHaveLength(3);
      expect(await run('nothing', thread_id)).toMatchObject({ value: 'nothing' });
    },
  );

  it('leaves the search of threads by their values to others', async () => {
    const { thread_id } = await client.threads.create();
    await run('found', thread_id);
    for (const thing of ['nul', 'lone surrogate']) {
      const other = await client.threads.create();
      await run(`value:${thing}`, other.thread_id);
    }
    const found = await client.threads.search({ values: { value: 'found' } });
    expect(found.map((thread) => thread.thread_id)).toEqual([thread_id]);
  });

  it('takes text that Postgres cannot hold', async () => {
    const { thread_id } = await client.threads.create();
    const config = { configurable: { word: 'a\ud800b', other: 'c\u0000d' } };
    expect(await run('configurable:word', thread_id, { config })).toMatchObject({ value: 'a\ud800b' });
    expect((await client.threads.getState(thread_id)).metadata).toMatchObject({
      word: 'a\ufffdb',
      run_attempt: 1,
    });
  });
});

describe('a graph with a large state', () => {
  itLong('shows all of it to its readers', async () => {
    const lengths: number[] = [];
    const { thread_id } = await client.threads.create();
    for await (const { event, data } of client.runs.stream(thread_id, 'growing', {
      input: { act: '10000000' },
      streamMode: ['values', 'updates'],
    }))
      if (event === 'values') lengths.push(((data as { value?: string }).value ?? '').length);
    expect(lengths).toEqual([0, 10_000_000, 10_000_000, 10_000_000]);
    const { values } = await client.threads.getState<{ value: string }>(thread_id);
    expect(values.value).toHaveLength(10_000_000);
  });

  itLong('does not wait for a reader that does not read', async () => {
    const { thread_id } = await client.threads.create();
    const left = new AbortController();
    const response = await fetch(`${server.url}/threads/${thread_id}/runs/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id: 'talking', input: {}, stream_mode: 'custom' }),
      signal: left.signal,
    });
    expect(response.status).toBe(200);
    await waitFor(async () => (await client.runs.list(thread_id, { status: 'success' })).length === 1);
    // output that it has not taken by then is no longer kept, and the client is informed of that
    expect(await response.text()).toContain('"error":"OutputLost"');
    left.abort();
  });
});

describe('a graph whose output is larger than allowed', () => {
  itLong('fails its run alone, and names size, limit and setting', async () => {
    // a server of the same database, whose limit is another, could take the run
    const own = await postgres.freshDatabase(prepareDatabase);
    const strict = await ServerProcess.start({ uri: own.uri, env: { AGENTPLANE_EVENT_MB: '8' } });
    try {
      const mine = strict.client();
      const { thread_id } = await mine.threads.create();
      const beside = mine.runs.wait(null, 'slow', { input: { waitMs: 300 } });
      const options = { input: { act: 'value:big' }, raiseError: false };
      const failed = (await mine.runs.wait(thread_id, 'hostile', options)) as Answer;
      expect(failed.__error__).toMatchObject({
        error: 'OutputTooLarge',
        message: expect.stringMatching(/ has 100000\d\d bytes; the limit is 8388608 \(AGENTPLANE_EVENT_MB/),
      });
      const events: { event: string; data: unknown }[] = [];
      for await (const part of mine.runs.stream(null, 'hostile', options)) events.push(part);
      expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: 'OutputTooLarge' } });
      expect(await beside).toMatchObject({ steps: ['first', 'second', 'third'] });
      // its state was stored before it was shown
      await expect(mine.threads.getState(thread_id)).rejects.toMatchObject({ status: 413 });
      const ended = strict.log.filter(({ msg }) => msg.includes('graph host ended'));
      expect(ended).toEqual([]);
    } finally {
      await strict.stop('SIGKILL');
    }
  });
});

describe('a graph that harms its server', () => {
  it('fails alone when it ends the process', async () => {
    const { thread_id } = await client.threads.create();
    const neighbour = client.runs.wait(thread_id, 'slow', { input: { waitMs: 300 } });
    await waitFor(async () => (await client.runs.list(thread_id, { status: 'running' })).length === 1);
    expect((await run('exit:7')).__error__?.message).toMatch(/process\.exit\(7\)/);
    expect(await neighbour).toMatchObject({ steps: ['first', 'second', 'third'] });
    expect(server.child.exitCode).toBeNull();
  });

  it.each(['{}', 'no JSON', '[1]'])('says nothing in the words of its watch: %s', async (line) => {
    expect(await run(`watch:${line}`)).toMatchObject({ value: line.length + 1 });
    expect((await run('back')).__error__).toBeUndefined();
    expect(server.child.exitCode).toBeNull();
  });

  it('keeps its run when it blocks the process for longer than a lease', async () => {
    const slow = await ServerProcess.start({ uri, env: { AGENTPLANE_RUN_LEASE_MS: '400' } });
    try {
      const { thread_id } = await client.threads.create();
      const made = await slow.client().runs.create(thread_id, 'hostile', { input: { act: 'block:2000' } });
      const [mine] = await waitFor(async () => {
        const runs = await client.runs.list(thread_id, { status: 'success' });
        return runs.length > 0 && runs;
      });
      expect(mine?.run_id).toBe(made.run_id);
    } finally {
      await slow.stop('SIGKILL');
    }
  });
});
