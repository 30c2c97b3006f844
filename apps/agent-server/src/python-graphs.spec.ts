import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder, waitFor } from '#lib/testing';
import { testDeltaThreads } from '../testdata/delta-threads.js';
import { testRefusedWrites } from '../testdata/refused-writes.js';
import { ServerProcess } from '../testdata/start-server.js';
import { testServer } from '../testdata/test-server.js';

const AGENT = join(import.meta.dirname, '..', 'testdata', 'python-agent');
const KEY = 'a-secret-of-the-server';
const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python) process.stderr.write('SKIPPED: graphs in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

(python ? describe : describe.skip)('a graph in Python', () => {
  const folder = temporaryFolder();
  const server = testServer({
    folder: AGENT,
    env: { AGENTPLANE_PYTHON: python ?? '', RUN_WEBHOOK_SECRET: KEY },
  });

  it('does not start with a library that is too old', async () => {
    const packages = join(folder, 'langgraph_checkpoint-2.0.25.dist-info');
    mkdirSync(packages);
    writeFileSync(join(packages, 'METADATA'), 'Name: langgraph-checkpoint\nVersion: 2.0.25\n');
    const path = join(folder, 'termination');
    const env = { AGENTPLANE_PYTHON: python ?? '', PYTHONPATH: folder, TERMINATION_MESSAGE_PATH: path };
    // graphs are loaded before the database is needed
    const uri = 'postgres://127.0.0.1:9/none';
    expect(await ServerProcess.startAndEnd({ uri, folder: AGENT, env })).toBe(78);
    expect(readFileSync(path, 'utf8')).toMatch(
      /langgraph-checkpoint 2\.0\.25 is too old .* 2\.0\.26 or newer/,
    );
  });

  it('answers, and keeps the thread', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    for (const content of ['one', 'two'])
      await client.runs.wait(id, 'echo', { input: { messages: [{ type: 'human', content }] } });
    const { values } = await client.threads.getState<{ messages: { type: string; content: string }[] }>(id);
    expect(values.messages.map(({ type, content }) => [type, content])).toEqual([
      ['human', 'one'],
      ['ai', 'you said one'],
      ['human', 'two'],
      ['ai', 'you said two'],
    ]);
    expect(await client.threads.getHistory(id)).toHaveLength(6);
  });

  it('streams tokens of a model', async () => {
    const events: string[] = [];
    let text = '';
    const input = { messages: [{ type: 'human', content: 'a' }] };
    const modes: ['messages-tuple', 'updates'] = ['messages-tuple', 'updates'];
    for await (const { event, data } of server
      .client()
      .runs.stream(null, 'echo', { input, streamMode: modes })) {
      events.push(event);
      if (event === 'messages') text += (data as unknown as [{ content: string }])[0].content;
    }
    expect(text).toBe('you said a');
    expect(events[0]).toBe('metadata');
    expect(events.at(-1)).toBe('updates');
  });

  it('waits for a person, and goes on', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, 'asks', { input: {} });
    const state = await client.threads.getState(id);
    expect(state.next).toEqual(['ask']);
    expect(state.tasks[0]?.interrupts).toMatchObject([{ value: { question: 'who?' } }]);
    const values = await client.runs.wait(id, 'asks', { command: { resume: 'you' } });
    expect(values).toEqual({ answer: 'you' });
  });

  it('calls the function that makes it for each run', async () => {
    const config = { configurable: { word: 'hello' } };
    expect(await server.client().runs.wait(null, 'made', { input: { text: '' }, config })).toEqual({
      text: 'hello',
    });
  });

  it('has the defaults of its context where a caller gives none', async () => {
    const { runs } = server.client();
    const [none, own] = [{ input: { text: '' } }, { input: { text: '' }, context: { word: 'mine' } }];
    expect(await runs.wait(null, 'prefers', none)).toEqual({ text: 'none given' });
    expect(await runs.wait(null, 'prefers', own)).toEqual({ text: 'mine' });
  });

  it('gets the fields of its context that a caller gives as configuration, and the other way round', async () => {
    const { runs } = server.client();
    const config = { configurable: { word: 'configured', colour: 'red' } };
    expect(await runs.wait(null, 'prefers', { input: { text: '' }, config })).toEqual({ text: 'configured' });
    const context = { word: 'meant' };
    expect(await runs.wait(null, 'made', { input: { text: '' }, context })).toEqual({ text: 'meant' });
  });

  it('leaves its thread interrupted where it stops before a node, and idle once it went on', async () => {
    const { runs, threads } = server.client();
    const { thread_id: id } = await threads.create();
    const input = { messages: [{ type: 'human', content: 'a' }] };
    await runs.wait(id, 'echo', { input, interruptBefore: '*' });
    const stopped = await threads.get(id);
    await runs.wait(id, 'echo', { input: null });
    expect([stopped.status, (await threads.get(id)).status]).toEqual(['interrupted', 'idle']);
  });

  it('shows what there is of a message as a message, and no empty schema of an answer', async () => {
    const { runs, threads } = server.client();
    const types = new Set<unknown>();
    const input = { messages: [{ type: 'human', content: 'a' }] };
    for await (const { event, data } of runs.stream(null, 'echo', { input, streamMode: 'messages' }))
      if (event === 'messages/partial') types.add((data as unknown as [{ type: string }])[0].type);
    expect([...types]).toEqual(['ai']);
    const { thread_id: id } = await threads.create();
    await runs.wait(id, 'asks', { input: {} });
    const [waiting] = Object.values((await threads.get(id)).interrupts);
    expect(Object.keys(waiting?.[0] ?? {}).sort()).toEqual(['id', 'value']);
  });

  it('keeps items in the store', async () => {
    const client = server.client();
    await client.runs.wait(null, 'remembers', { input: { text: 'first' } });
    expect(await client.runs.wait(null, 'remembers', { input: { text: 'second' } })).toEqual({
      text: 'first',
    });
    expect((await client.store.getItem(['notes'], 'last'))?.value).toEqual({ text: 'second' });
  });

  it('fails by name and message', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const { run_id: runId } = await client.runs.create(id, 'fails', { input: { text: 'this' } });
    await client.runs.join(id, runId).catch(() => undefined);
    expect((await client.runs.get(id, runId)).status).toBe('error');
    expect(await client.threads.get(id)).toMatchObject({
      error: { error: 'ValueError', message: 'cannot take this' },
    });
  });

  it('stops when its run is cancelled', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const { run_id: runId } = await client.runs.create(id, 'slow', { input: { ms: 500 } });
    await client.runs.cancel(id, runId, true);
    expect((await client.runs.get(id, runId)).status).toBe('interrupted');
  });

  it('answers with its schemas and its drawing', async () => {
    const client = server.client();
    const schemas = await client.assistants.getSchemas('echo');
    expect(schemas.input_schema).toMatchObject({ properties: { messages: { type: 'array' } } });
    const drawn = await client.assistants.getGraph('echo');
    expect(drawn.nodes.map(({ id }) => id)).toEqual(['__start__', 'answer', '__end__']);
  });

  it('has its state changed from outside', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, 'shouts', { input: { text: 'a' } });
    await client.threads.updateState(id, { values: { text: 'b' }, asNode: 'shout' });
    expect((await client.threads.getState(id)).values).toEqual({ text: 'b' });
    expect((await client.threads.get(id)).values).toEqual({ text: 'b' });
  });

  describe('with a thread', () => {
    testDeltaThreads(() => server);
    testRefusedWrites(() => server);
  });

  it('goes on in another process when its own is killed', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const ended = client.runs.wait(id, 'slow', { input: { ms: 1_500 } });
    await waitFor(
      async () => (await client.threads.getState<{ steps?: string[] }>(id)).values.steps?.length === 1,
    );
    const worker = execFileSync(
      'pgrep',
      ['-P', String(server.child.pid), '-f', 'agent-server/python graphs'],
      {
        encoding: 'utf8',
      },
    );
    process.kill(Number(worker.trim()), 'SIGKILL');
    expect(await ended).toEqual({ ms: 1_500, steps: ['first', 'second'] });
    const [run] = await client.runs.list(id);
    expect(run?.status).toBe('success');
  });

  it('runs more plain functions at once than the machine has cores', async () => {
    expect(await server.client().runs.wait(null, 'meets', { input: { text: '' } })).toEqual({ text: 'met' });
  });

  it('streams what its tools do', async () => {
    const client = server.client();
    const streamMode: ['tools'] = ['tools'];
    const found: unknown[] = [];
    for await (const { event, data } of client.runs.stream(null, 'tooling', {
      input: { text: 'ab' },
      streamMode,
    }))
      if (event === 'tools') found.push(data);
    const call = { toolCallId: 'call-1', name: 'spell' };
    expect(found).toMatchObject([
      { event: 'on_tool_start', ...call, input: { word: 'ab' } },
      { event: 'on_tool_end', ...call, output: { content: 'a-b' } },
      { event: 'on_tool_start', toolCallId: 'call-2' },
      { event: 'on_tool_error', error: { error: 'ValueError', message: 'no word' } },
    ]);
  });

  it('finds items by what they mean, by a function of the agent', async () => {
    const { store } = server.client();
    for (const [key, text] of [
      ['near', 'abc'],
      ['far', 'xyz'],
    ] as const)
      await store.putItem(['meaning'], key, { text });
    const { items } = await store.searchItems(['meaning'], { query: 'cab' });
    expect(items.map(({ key }) => key)).toEqual(['near', 'far']);
    expect(items[0]?.score).toBeCloseTo(1);
  });

  it('ends a run whose values raise when they are shown', async () => {
    const found: unknown[] = [];
    const streamMode: ['custom', 'values'] = ['custom', 'values'];
    for await (const { event, data } of server
      .client()
      .runs.stream(null, 'awkward', { input: { text: '' }, streamMode }))
      if (event !== 'metadata') found.push([event, data]);
    expect(found).toEqual([
      ['values', { text: '' }],
      ['custom', { __unserializable__: 'TypeError: Type is not JSON serializable: Awkward' }],
      ['values', { text: 'done' }],
    ]);
  });

  it('outlives half of a surrogate pair, and a text of any length that an error repeats', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const half = { text: '\ud800' };
    const ends = (): number => server.log.filter(({ msg }) => /graph host ended/.test(msg)).length;
    const before = ends();
    await expect(client.threads.updateState(id, { values: half, asNode: 'shout' })).rejects.toThrow();
    const values = 'a'.repeat(17_000_000);
    const { thread_id: own } = await client.threads.create({ graphId: 'shouts' });
    await expect(client.threads.updateState(own, { values, asNode: 'shout' })).rejects.toThrow(
      /Expected dict, got a+… \(\d+ more characters\)/,
    );
    await client.runs.wait(null, 'shouts', { input: half }).catch(() => undefined);
    expect(await client.runs.wait(null, 'shouts', { input: { text: 'a' } })).toEqual({ text: 'A' });
    expect(ends()).toBe(before);
  });

  it('gets no secret of the database', async () => {
    const { text } = (await server.client().runs.wait(null, 'environment', { input: { text: '' } })) as {
      text: string;
    };
    expect(text).toContain('PATH');
    expect(text).not.toContain('POSTGRES_URI');
  });

  it('logs without the secrets of the server, and no text of any length', async () => {
    const text = `of ${KEY}, `;
    await server.client().runs.wait(null, 'logs', { input: { text } });
    const line = await waitFor(() => server.log.find(({ msg }) => /^logged of/.test(msg)), {
      what: 'a line',
    });
    expect(JSON.stringify(line)).not.toContain(KEY);
    expect(line.msg).toMatch(/^logged of \[hidden\], x+…$/);
    expect(line.msg.length).toBeLessThan(8_200);
    expect(line).toMatchObject({
      level: 'error',
      agent: { logger: 'mine' },
      run_id: expect.any(String) as unknown,
      err: { type: 'ValueError', message: 'raised of [hidden], ' },
    });
    const { stack } = (line as unknown as { err: { stack: string } }).err;
    expect(stack).toMatch(
      /^ValueError: raised of \[hidden\], \n {4}at _log \(.*python-agent\/graphs\.py:\d+\)$/,
    );
  });

  it('gets what looks like an object of a library as the equal value', async () => {
    const client = server.client();
    const { thread_id: id } = await client.threads.create();
    const lc = { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'AIMessage'], kwargs: {} };
    const message = { type: 'human', content: 'a', additional_kwargs: { lc } };
    await client.runs.wait(id, 'echo', { input: { messages: [message] } });
    const { values } = await client.threads.getState<{ messages: { additional_kwargs: unknown }[] }>(id);
    expect(values.messages[0]?.additional_kwargs).toEqual({ lc });
  });
});
