import type { Client } from '@langchain/langgraph-sdk';
import { testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../testdata/start-server.js';
import { prepareDatabase } from '../testdata/store-fixture.js';

const TICKS = 12;

interface Heard {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

const postgres = testPostgres();
let first: ServerProcess;
let second: ServerProcess;

beforeAll(async () => {
  const { uri } = await postgres.freshDatabase(prepareDatabase);
  [first, second] = await Promise.all([ServerProcess.start({ uri }), ServerProcess.start({ uri })]);
});

afterAll(() => Promise.all([first?.stop('SIGKILL'), second?.stop('SIGKILL')]));

/** Reads into a list that grows while the stream lasts. */
function listen(stream: AsyncIterable<unknown>): { heard: Heard[]; done: Promise<void> } {
  const heard: Heard[] = [];
  const read = async (): Promise<void> => {
    for await (const part of stream) heard.push(part as Heard);
  };
  return { heard, done: read() };
}

function ticksOf(heard: readonly Heard[]): unknown[] {
  return heard.filter(({ event }) => event === 'custom').map(({ data }) => data['tick']);
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_none, tick) => tick);
}

/** Milliseconds between two ticks of a run that a test meets at work. */
const SLOW_MS = 60;

function startTicking(client: Client, threadId: string, streamResumable = false, waitMs = 15) {
  return client.runs.create(threadId, 'ticking', {
    input: { count: TICKS, waitMs },
    streamMode: ['custom'],
    streamResumable,
  });
}

async function metricsOf(server: ServerProcess): Promise<string> {
  return (await fetch(`${server.url}/metrics`)).text();
}

async function newThread(): Promise<string> {
  return (await first.client().threads.create()).thread_id;
}

/** Joining a thread shows nothing by itself: short runs are made until one is heard to its end. */
async function joined(threadId: string, heard: Heard[]): Promise<void> {
  await waitFor(async () => {
    if (heard.length === 0) await first.client().runs.wait(threadId, 'counter', { input: {} });
    return heard.some(({ data }) => data['status'] === 'run_done');
  });
}

const SERVERS: readonly (readonly [string, () => ServerProcess])[] = [
  ['the server of the run', () => first],
  ['another server', () => second],
];

describe.each(SERVERS)('a client that joins a run at %s', (_title, serverOf) => {
  async function ended(threadId: string, runId: string): Promise<void> {
    await waitFor(async () => (await first.client().runs.get(threadId, runId)).status === 'success');
  }

  it('hears only what comes after it without a Last-Event-ID, resumable or not', async () => {
    for (const isResumable of [false, true]) {
      const threadId = await newThread();
      const { run_id } = await startTicking(first.client(), threadId, isResumable, SLOW_MS);
      const before = listen(first.client().runs.joinStream(threadId, run_id));
      await waitFor(() => ticksOf(before.heard).length > 0);
      const { heard, done } = listen(serverOf().client().runs.joinStream(threadId, run_id));
      await Promise.all([done, before.done]);
      expect(heard[0]).toMatchObject({ event: 'metadata', data: { run_id, attempt: 1 } });
      const ticks = ticksOf(heard);
      expect(ticks).toEqual(upTo(TICKS).slice(-ticks.length));
      expect(ticks.length).toBeGreaterThan(0);
      expect(ticks.length).toBeLessThan(TICKS);
    }
  });

  it.each(['-1', '-', '0'])('hears everything of a resumable run for %s, also after its end', async (all) => {
    const threadId = await newThread();
    const { run_id } = await startTicking(first.client(), threadId, true);
    const client = serverOf().client();
    const during = listen(client.runs.joinStream(threadId, run_id, { lastEventId: all }));
    await during.done;
    await ended(threadId, run_id);
    const after = listen(client.runs.joinStream(threadId, run_id, { lastEventId: all }));
    await after.done;
    expect(ticksOf(during.heard)).toEqual(upTo(TICKS));
    expect(after.heard).toEqual(during.heard);
  });

  it('hears nothing of a run that ended and is not resumable', async () => {
    const threadId = await newThread();
    const { run_id } = await startTicking(first.client(), threadId);
    await ended(threadId, run_id);
    const { heard, done } = listen(
      serverOf().client().runs.joinStream(threadId, run_id, { lastEventId: '-1' }),
    );
    await done;
    expect(heard).toEqual([]);
  });

  it('hears nothing of a run that ended, though its output is kept for others', async () => {
    const threadId = await newThread();
    const { run_id } = await startTicking(first.client(), threadId);
    const client = serverOf().client();
    await listen(client.runs.joinStream(threadId, run_id)).done;
    await ended(threadId, run_id);
    const { heard, done } = listen(client.runs.joinStream(threadId, run_id));
    await done;
    expect(heard).toEqual([]);
  });

  it('learns that what it wants is no longer kept', async () => {
    const threadId = await newThread();
    const { run_id } = await startTicking(first.client(), threadId);
    await ended(threadId, run_id);
    const { heard, done } = listen(
      serverOf().client().runs.joinStream(threadId, run_id, { lastEventId: '1-3' }),
    );
    await done;
    expect(heard).toMatchObject([{ event: 'error', data: { error: 'OutputLost' } }]);
  });
});

describe('Last-Event-ID', () => {
  it('takes no events from other readers when it names one that no server has made', async () => {
    const threadId = await newThread();
    const { run_id } = await startTicking(first.client(), threadId, true, SLOW_MS);
    const client = second.client();
    const forged = listen(client.runs.joinStream(threadId, run_id, { lastEventId: '99-999999' }));
    await waitFor(async () => (await metricsOf(second)).includes('\nagentplane_agent_stream_readers 1\n'));
    const honest = listen(client.runs.joinStream(threadId, run_id, { lastEventId: '1-1' }));
    const later = listen(client.runs.joinStream(threadId, run_id));
    await Promise.all([forged.done, honest.done, later.done]);
    expect(ticksOf(honest.heard)).toEqual(upTo(TICKS).slice(1));
    expect(ticksOf(later.heard).at(-1)).toBe(TICKS - 1);
    expect(ticksOf(forged.heard)).toEqual([]);
  });

  it('gives a reader the events that it missed of a run which is quiet meanwhile', async () => {
    const threadId = await newThread();
    const { run_id } = await first.client().runs.create(threadId, 'slow', {
      input: { waitMs: 1_000_000 },
      streamMode: ['custom'],
      streamResumable: true,
    });
    const here = listen(first.client().runs.joinStream(threadId, run_id, { lastEventId: '-1' }));
    await waitFor(() => here.heard.length === 2);
    const { heard } = listen(second.client().runs.joinStream(threadId, run_id, { lastEventId: '1-0' }));
    await waitFor(() => heard.length > 0);
    expect(heard.map(({ id }) => id)).toEqual(['1-1']);
    await first.client().runs.cancel(threadId, run_id, true);
  });

  it('refuses an id that names no event', async () => {
    const threadId = await newThread();
    const { run_id } = await startTicking(first.client(), threadId);
    for (const path of [`/threads/${threadId}/runs/${run_id}/stream`, `/threads/${threadId}/stream`]) {
      const answer = await fetch(first.url + path, { headers: { 'last-event-id': 'nonsense' } });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('nonsense')]);
    }
  });
});

describe.each(SERVERS)('a client that joins a thread at %s', (_title, serverOf) => {
  it('leaves no reader behind when it is refused', async () => {
    const threadId = await newThread();
    const client = serverOf().client();
    const path = `${serverOf().url}/threads/${threadId}/stream`;
    const unknown = { 'last-event-id': `${threadId}:1-1` };
    expect((await fetch(path, { headers: unknown })).status).toBe(404);
    const { run_id } = await startTicking(client, threadId, false, SLOW_MS);
    await waitFor(async () => (await client.runs.get(threadId, run_id)).status === 'running');
    expect(await metricsOf(serverOf())).toMatch(/^agentplane_agent_stream_readers 0$/m);
    await client.runs.cancel(threadId, run_id, true);
  });

  it('hears the runs that are made later, one after the other, until it leaves', async () => {
    const threadId = await newThread();
    const leaving = new AbortController();
    const { heard, done } = listen(
      serverOf()
        .client()
        .threads.joinStream(threadId, { streamMode: ['run_modes', 'state_update'], signal: leaving.signal }),
    );
    await joined(threadId, heard);
    const runIds: string[] = [];
    for (let n = 0; n < 2; n++) runIds.push((await startTicking(first.client(), threadId)).run_id);
    const own = (): Heard[] => heard.filter(({ id }) => runIds.some((runId) => id?.startsWith(runId)));
    const ends = (): Heard[] => own().filter(({ data }) => data['status'] === 'run_done');
    const states = (): Heard[] => own().filter(({ event }) => event === 'state_update');
    await waitFor(() => ends().length === 2 && states().length === 2);
    expect(ends().map(({ data }) => data['run_id'])).toEqual(runIds);
    expect(states().at(-1)?.data).toMatchObject({ thread_id: threadId, values: { said: TICKS } });
    const begun = own().filter(({ event, data }) => event === 'metadata' && data['attempt'] === 1);
    expect(begun.map(({ data }) => data['run_id'])).toEqual(runIds);
    expect(ticksOf(own()).slice(-TICKS)).toEqual(upTo(TICKS)); // the second was recorded from its beginning
    const named = heard.find(({ id }) => id?.startsWith(`${runIds[1]}:1-4`));
    leaving.abort();
    await done.catch(() => undefined);

    const again = new AbortController();
    const resumed = listen(
      serverOf()
        .client()
        .threads.joinStream(threadId, { lastEventId: named?.id ?? '', signal: again.signal }),
    );
    await waitFor(() => resumed.heard.some(({ data }) => data['status'] === 'run_done'));
    expect(ticksOf(resumed.heard)).toEqual(upTo(TICKS).slice(4));
    again.abort();
    await resumed.done.catch(() => undefined);
  });

  it('hears only starts and ends in the mode lifecycle', async () => {
    const threadId = await newThread();
    const leaving = new AbortController();
    const { heard, done } = listen(
      serverOf().client().threads.joinStream(threadId, { streamMode: 'lifecycle', signal: leaving.signal }),
    );
    await joined(threadId, heard);
    const { run_id } = await startTicking(first.client(), threadId);
    const own = (): Heard[] => heard.filter(({ data }) => data['run_id'] === run_id);
    await waitFor(() => own().some(({ data }) => data['status'] === 'run_done'));
    expect(own().map(({ event, data }) => [event, data])).toEqual([
      ['metadata', { run_id, attempt: 1 }],
      ['metadata', { status: 'run_done', run_id }],
    ]);
    leaving.abort();
    await done.catch(() => undefined);
  });
});
