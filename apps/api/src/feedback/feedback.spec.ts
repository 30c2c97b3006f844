import { randomUUID } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { Client } from 'langsmith';
import pg from 'pg';
import { waitFor } from '#lib/testing';
import type { TestAnswer } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();

const sdk = () => new Client({ apiUrl: api.url, apiKey: tenant.key, autoBatchTracing: false });

interface SentRun {
  readonly id: string;
  readonly trace_id: string;
  readonly start_time: string;
}

async function sendRun(more: object = {}, of = tenant): Promise<SentRun> {
  const id = randomUUID();
  const run = { id, trace_id: id, start_time: '2026-11-20T10:00:00.123456Z', name: 'r', run_type: 'chain' };
  const sent = { ...run, session_name: 'judged', ...more };
  expect((await of.call('POST', '/runs', sent)).status).toBe(202);
  return sent;
}

async function projectId(name: string): Promise<string> {
  return (await tenant.call('GET', `/sessions?name=${name}`)).json[0].id as string;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const judge = (body: object, of = tenant): Promise<TestAnswer> => of.call('POST', '/feedback', body);

describe('feedback of the JavaScript client', () => {
  it('comes back as it was sent until it is changed and deleted', async () => {
    const run = await sendRun();
    const [sessionId, experiment] = [await projectId('judged'), randomUUID()];
    const made = await sdk().createFeedback(run.id, 'helpful', {
      score: 0.123456,
      value: 'good',
      comment: 'fine',
      correction: { text: 'better' },
      sessionId,
      sourceInfo: { judge: 'x' },
      feedbackSourceType: 'model',
      sourceRunId: randomUUID(),
      feedbackConfig: { type: 'continuous', min: 0, max: 1, categories: null },
      comparativeExperimentId: experiment,
    });
    const read = await sdk().readFeedback(made.id);
    expect(read).toEqual({
      id: made.id,
      run_id: run.id,
      trace_id: run.id,
      session_id: sessionId,
      key: 'helpful',
      start_time: run.start_time,
      score: 0.1235,
      value: 'good',
      comment: 'fine',
      correction: { text: 'better' },
      feedback_source: made.feedback_source,
      feedback_config: { type: 'continuous', min: 0, max: 1, categories: null },
      comparative_experiment_id: experiment,
      feedback_group_id: null,
      extra: null,
      error: null,
      extend_trace_retention: null,
      created_at: expect.any(String),
      modified_at: expect.any(String),
    });
    await sdk().updateFeedback(made.id, { score: 1, comment: 'changed' });
    expect(await sdk().readFeedback(made.id)).toMatchObject({ score: 1, comment: 'changed', value: 'good' });
    await sdk().createFeedback(run.id, 'other', { score: true, sessionId });
    const listed = await all(sdk().listFeedback({ runIds: [run.id] }));
    expect(listed.map(({ key, score }) => [key, score])).toEqual([
      ['other', true],
      ['helpful', 1],
    ]);
    const some = sdk().listFeedback({
      runIds: [run.id],
      feedbackKeys: ['helpful', 'x'],
      feedbackSourceTypes: ['model'],
    });
    expect(await all(some)).toHaveLength(1);
    await sdk().deleteFeedback(made.id);
    await expect(sdk().readFeedback(made.id)).rejects.toThrow(/not found/);
  });

  it('belongs to a project where it names no run', async () => {
    await sendRun();
    const id = await projectId('judged');
    const made = await sdk().createFeedback(null, 'overall', { score: 3, projectId: id });
    expect(await sdk().readFeedback(made.id)).toMatchObject({ run_id: null, session_id: id, score: 3 });
    const { json } = await tenant.call('GET', `/feedback?session=${id}&level=session`);
    expect(json.map(({ key }: { key: string }) => key)).toEqual(['overall']);
  });
});

describe('POST /feedback', () => {
  it.each([
    ['a number', 7.25, 'x', null],
    ['true', true, true, { a: ['b', { c: null }] }],
    ['false', false, 0, 'a text'],
    ['nothing', null, { label: 'é', nested: { n: 1 } }, null],
    ['zero', 0, ['a', 'b'], {}],
  ])(
    'keeps a score that is %s, with values and corrections of every kind',
    async (_, score, value, correction) => {
      const body = { run_id: (await sendRun()).id, key: 'k', score, value, correction };
      const { status, json } = await judge(body);
      expect([status, json]).toMatchObject([
        200,
        { score, value, correction, feedback_source: { type: 'api' } },
      ]);
      expect((await tenant.call('GET', `/feedback/${json.id}`)).json).toEqual(json);
    },
  );

  it('keeps every member that the Python client sends', async () => {
    const run = await sendRun();
    const body = {
      id: randomUUID(),
      run_id: run.id,
      trace_id: run.id,
      key: 'k',
      created_at: '2026-01-02T03:04:05.123456Z',
      modified_at: '2026-01-02T03:04:05Z',
      score: 1,
      value: null,
      comment: null,
      correction: null,
      feedback_source: {
        type: 'model',
        metadata: { __run: { run_id: run.id } },
        user_id: 'u',
        user_name: 'n',
      },
      session_id: await projectId('judged'),
      start_time: run.start_time,
      feedback_group_id: randomUUID(),
      comparative_experiment_id: null,
      extra: { a: 1 },
      error: false,
      extend_trace_retention: true,
      feedback_config: null,
    };
    const { modified_at: _, ...kept } = body;
    expect((await judge(body)).json).toEqual({ ...kept, modified_at: expect.any(String) });
  });

  it('replaces feedback that has its id, and refuses the id of that of another run', async () => {
    const [run, other] = [await sendRun(), await sendRun()];
    const body = { id: randomUUID(), run_id: run.id, key: 'k', score: 1, comment: 'c' };
    const first = (await judge(body)).json;
    expect((await judge(body)).json).toEqual(first);
    const again = (await judge({ ...body, score: 0, comment: null })).json;
    expect(again).toMatchObject({ score: 0, comment: null, created_at: first.created_at });
    expect(again.modified_at > first.modified_at).toBe(true);
    const { status, json } = await judge({ ...body, run_id: other.id });
    expect([status, json.detail[0]]).toMatchObject([422, { type: 'other_run', loc: ['body', 'id'] }]);
    expect((await tenant.call('GET', `/feedback?run=${other.id}`)).json).toEqual([]);
  });

  it('lets a key of the scope ingest give feedback, and change none', async () => {
    const run = await sendRun();
    const { key } = await api.store.apiKeys.mint(tenant.tenantId, { name: 'i', scope: 'ingest' });
    const judgeAsIngest = async (body: object, name?: string): Promise<[number, { type?: string }]> => {
      const form = new FormData();
      form.append(name ?? '', new Blob([JSON.stringify(body)], { type: 'application/json' }));
      const answer = await fetch(`${api.url}${name === undefined ? '/feedback' : '/runs/multipart'}`, {
        method: 'POST',
        headers: { 'x-api-key': key, ...(name === undefined ? { 'content-type': 'application/json' } : {}) },
        body: name === undefined ? JSON.stringify(body) : form,
      });
      const json = (await answer.json()) as { detail?: [{ type: string }] };
      return [answer.status, { ...(json.detail ? { type: json.detail[0].type } : {}) }];
    };
    const body = { id: randomUUID(), run_id: run.id, key: 'k', score: 1, comment: 'c' };
    const first = (await judge(body)).json;
    const other = { ...body, comment: 'changed' };
    expect(await judgeAsIngest(other)).toEqual([422, { type: 'feedback_exists' }]);
    expect(await judgeAsIngest(other, `feedback.${body.id}`)).toEqual([422, { type: 'feedback_exists' }]);
    expect(await judgeAsIngest(body)).toEqual([200, {}]);
    expect(await judgeAsIngest(body, `feedback.${body.id}`)).toEqual([202, {}]);
    expect(await judgeAsIngest({ ...other, id: randomUUID() })).toEqual([200, {}]);
    const mint = (id: string) =>
      tenant.call(
        'POST',
        '/feedback/tokens',
        { run_id: run.id, feedback_key: 'k', id },
        { 'x-api-key': key },
      );
    const [taken, free] = [await mint(body.id), await mint(randomUUID())];
    expect([taken.status, taken.json.detail[0].type, free.status]).toEqual([422, 'feedback_exists', 200]);
    expect((await tenant.call('GET', `/feedback/${body.id}`)).json).toEqual(first);
  });

  it('lets feedback wait for its run, and joins it when the run comes', async () => {
    const id = randomUUID();
    const { json } = await judge({ run_id: id, trace_id: id, key: 'early', score: 1 });
    expect(json).toMatchObject({ run_id: id, trace_id: id, session_id: null, start_time: null });
    await sendRun({ id, trace_id: id });
    expect((await tenant.call('GET', `/feedback/${json.id}`)).json).toMatchObject({
      run_id: id,
      trace_id: id,
      session_id: await projectId('judged'),
      start_time: '2026-11-20T10:00:00.123456Z',
    });
  });

  it('joins feedback to no run of another trace or project', async () => {
    const id = randomUUID();
    const foreign = (await tenant.call('POST', '/sessions', { name: 'other' })).json.id;
    const wrong = [{ trace_id: randomUUID() }, { session_id: foreign }];
    const made = await Promise.all(
      wrong.map(async (more) => (await judge({ run_id: id, key: 'k', ...more })).json.id as string),
    );
    await sendRun({ id, trace_id: id });
    for (const one of made) expect((await tenant.call('GET', `/feedback/${one}`)).json.start_time).toBeNull();
  });

  it.each([
    ['no key', { key: undefined }, 'key', 'missing'],
    ['a long key', { key: 'k'.repeat(181) }, 'key', 'string_too_long'],
    ['a key with half a character', { key: 'k\ud800' }, 'key', 'json_surrogate'],
    ['a score that is a text', { score: '1' }, 'score', 'score_type'],
    ['a score beyond all bounds', { score: 1e300 }, 'score', 'score_type'],
    ['a value of 17 KB', { value: 'v'.repeat(17_000) }, 'value', 'too_long'],
    ['a value with U+0000', { value: 'a\0' }, 'value', 'json_nul'],
    ['a correction that is a list', { correction: [] }, 'correction', 'dict_type'],
    ['a long comment', { comment: 'c'.repeat(10_001) }, 'comment', 'string_too_long'],
    ['a large extra', { extra: { a: 'x'.repeat(17_000) } }, 'extra', 'too_long'],
    ['an address', { address: 'lrn:x' }, 'address', 'extra_forbidden'],
    ['an unknown project', { run_id: undefined, session_id: randomUUID() }, 'session_id', 'not_found'],
    ['neither run nor project', { run_id: undefined }, 'run_id', 'missing'],
  ])('refuses %s', async (_, more, member, type) => {
    const { status, json } = await judge({ run_id: randomUUID(), key: 'k', ...more });
    expect([status, json.detail]).toEqual([422, [{ loc: ['body', member], msg: expect.any(String), type }]]);
  });

  it('refuses feedback of a deleted trace', async () => {
    const run = await sendRun();
    const waiting = (await judge({ run_id: randomUUID(), trace_id: run.id, key: 'k' })).json;
    const stored = (await judge({ run_id: run.id, key: 'k' })).json;
    const body = { session_id: await projectId('judged'), trace_ids: [run.id] };
    expect((await tenant.call('POST', '/runs/delete', body)).json).toEqual({ deleted_runs: 1 });
    for (const { id } of [waiting, stored])
      expect((await tenant.call('GET', `/feedback/${id}`)).status).toBe(404);
    const { status, json } = await judge({ run_id: run.id, key: 'k' });
    expect([status, json.detail[0].type]).toEqual([422, 'erased']);
  });
});

describe('POST /runs/multipart', () => {
  async function send(parts: readonly (readonly [name: string, body: unknown])[]): Promise<Response> {
    const form = new FormData();
    for (const [name, body] of parts) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      form.append(name, new Blob([text], { type: 'application/json' }));
    }
    return fetch(`${api.url}/runs/multipart`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key },
      body: form,
    });
  }
  const run = (id: string) => ({ id, trace_id: id, name: 'r', run_type: 'chain', session_name: 'judged' });

  it('stores feedback with the runs of the batch, before and behind them', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const [one, other] = [randomUUID(), randomUUID()];
    const answer = await send([
      [`feedback.${one}`, { run_id: first, trace_id: first, key: 'a', score: 1, error: null }],
      [`post.${first}`, run(first)],
      [`post.${second}`, run(second)],
      [`feedback.${other}`, { id: other, run_id: second, trace_id: second, key: 'b', value: 'v' }],
    ]);
    expect([answer.status, await answer.json()]).toEqual([202, { message: 'Runs were stored' }]);
    const project = await projectId('judged');
    for (const [id, runId] of [
      [one, first],
      [other, second],
    ])
      expect((await tenant.call('GET', `/feedback/${id}`)).json).toMatchObject({
        run_id: runId,
        session_id: project,
      });
  });

  it('refuses wrong feedback alone, by the name of its part', async () => {
    const [id, good, bad] = [randomUUID(), randomUUID(), randomUUID()];
    const answer = await send([
      [`post.${id}`, run(id)],
      [`feedback.${bad}`, { run_id: id, trace_id: id, key: 'k', score: 'high' }],
      ['feedback.no-id', { run_id: id, key: 'k' }],
      [`feedback.${randomUUID()}`, '{'],
      [`feedback.${good}`, { run_id: id, trace_id: id, key: 'k' }],
    ]);
    const { detail } = (await answer.json()) as { readonly detail: readonly object[] };
    expect([answer.status, detail]).toMatchObject([
      422,
      [
        { loc: ['body', `feedback.${bad}`, 'score'], type: 'score_type' },
        { loc: ['body', 'feedback.no-id', 'id'], type: 'uuid_parsing' },
        { type: 'json_invalid' },
      ],
    ]);
    expect((await tenant.call('GET', `/feedback/${good}`)).json.run_id).toBe(id);
    expect((await tenant.call('GET', '/ingest-problems')).json.recent[0]).toMatchObject({
      type: 'score_type',
    });
  });

  it('takes a thousand for a run and no more', async () => {
    const id = randomUUID();
    const many = Array.from(
      { length: 1_001 },
      () => [`feedback.${randomUUID()}`, { run_id: id, trace_id: id, key: 'k', score: 1 }] as const,
    );
    const answer = await send([[`post.${id}`, run(id)], ...many]);
    const { detail } = (await answer.json()) as { readonly detail: readonly object[] };
    expect([answer.status, detail]).toMatchObject([422, [{ type: 'too_many_feedback' }]]);
    const one = { run_id: id, key: 'k' };
    expect((await judge(one)).json.detail).toMatchObject([{ loc: ['body'], type: 'too_many_feedback' }]);
    const [name = ''] = many[0] ?? [];
    expect((await judge({ ...one, id: name.slice(9), score: 2 })).status).toBe(200);
  });
});

describe('DELETE /sessions/{id}', () => {
  it('takes feedback of the project and of its runs along', async () => {
    const run = await sendRun({ session_name: 'to be deleted' });
    const session_id = await projectId('to be deleted');
    const made = await Promise.all(
      [{ run_id: run.id }, { session_id }, { run_id: randomUUID(), session_id }].map(
        async (about) => (await judge({ ...about, key: 'k' })).json.id as string,
      ),
    );
    expect((await tenant.call('DELETE', `/sessions/${session_id}`)).status).toBe(202);
    const statuses = async () =>
      Promise.all(made.map(async (id) => (await tenant.call('GET', `/feedback/${id}`)).status));
    await waitFor(async () => (await statuses()).every((status) => status === 404));
  });
});

describe('GET /feedback', () => {
  it('answers pages, newest first, by what is asked', async () => {
    const run = await sendRun();
    const times = ['2026-01-01T00:00:00.000001Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'];
    for (const [at, created_at] of times.entries())
      await judge({
        run_id: run.id,
        key: `k,${at}`,
        created_at,
        ...(at === 0 ? { comment: 'c' } : { score: at }),
      });
    const keys = async (query: string): Promise<string[]> =>
      (await tenant.call('GET', `/feedback?run=${run.id}&${query}`)).json.map(
        ({ key }: { key: string }) => key,
      );
    expect(await keys('limit=2')).toEqual(['k,2', 'k,1']);
    expect(await keys('limit=2&offset=2')).toEqual(['k,0']);
    expect(await keys('key=k,1&key=k,0')).toEqual(['k,1', 'k,0']);
    expect(await keys('has_comment=true')).toEqual(['k,0']);
    expect(await keys('has_score=True')).toEqual(['k,2', 'k,1']);
    expect(await keys('min_created_at=2026-01-01T00:00:00.000002Z&max_created_at=2026-01-02')).toEqual([
      'k,1',
    ]);
    expect(await keys('level=session')).toEqual([]);
    expect(await keys(`session=${await projectId('judged')}&source=api`)).toHaveLength(3);
    expect((await tenant.call('GET', '/feedback?run=x')).status).toBe(422);
    expect((await tenant.call('GET', '/feedback?user=x')).status).toBe(422);
  });
});

describe('extend_trace_retention', () => {
  const tierOf = async (run: SentRun) => (await tenant.call('GET', `/runs/${run.id}`)).json.trace_tier;
  const brief = (more: object = {}) => sendRun({ trace_tier: 'shortlived', ...more });

  it('makes the trace of a run longlived unless it is false', async () => {
    const [kept, other, left] = [await brief(), await brief(), await brief()];
    const child = await brief({ trace_id: kept.id, parent_run_id: kept.id });
    await sdk().createFeedback(child.id, 'k', { score: 1 });
    expect((await judge({ run_id: other.id, key: 'k', extend_trace_retention: true })).status).toBe(200);
    await sdk().createFeedback({ runId: left.id, key: 'k', extendTraceRetention: false } as never);
    expect([await tierOf(kept), await tierOf(child), await tierOf(other), await tierOf(left)]).toEqual([
      'longlived',
      'longlived',
      'longlived',
      'shortlived',
    ]);
  });

  it('has its effect when the run comes after the feedback, and in parts of a batch', async () => {
    const [late, left] = [randomUUID(), randomUUID()];
    await judge({ run_id: late, key: 'k' });
    await judge({ run_id: left, key: 'k', extend_trace_retention: false });
    expect(await tierOf(await brief({ id: late, trace_id: late }))).toBe('longlived');
    expect(await tierOf(await brief({ id: left, trace_id: left }))).toBe('shortlived');
    const run = await brief();
    const id = randomUUID();
    const part = JSON.stringify({ id, run_id: run.id, trace_id: run.id, key: 'k' });
    const body = `--XX\r\nContent-Disposition: form-data; name="feedback.${id}"\r\nContent-Type: application/json\r\n\r\n${part}\r\n--XX--\r\n`;
    const answer = await fetch(`${api.url}/runs/multipart`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.key, 'content-type': 'multipart/form-data; boundary=XX' },
      body,
    });
    expect(answer.status).toBe(202);
    expect(await tierOf(run)).toBe('longlived');
  });
});

describe('feedback_stats', () => {
  const stats = (more: object) => ({
    n: 0,
    avg: null,
    stdev: null,
    min: null,
    max: null,
    errors: 0,
    values: {},
    comments: [],
    sources: ['api'],
    contains_thread_feedback: false,
    ...more,
  });

  it('sums up what was said of a run, on every wire', async () => {
    const [run, silent] = [await sendRun({ session_name: 'sums' }), await sendRun({ session_name: 'sums' })];
    const project = await projectId('sums');
    const at = (day: number) => ({ created_at: `2026-01-0${day}T00:00:00Z` });
    for (const more of [
      { key: 'score', score: 0.25, comment: 'first', ...at(1) },
      { key: 'score', score: true, comment: 'second', ...at(2), feedback_source: { type: 'model' } },
      { key: 'label', value: 'good' },
      { key: 'label', value: 'good', error: true },
      { key: 'label', value: { no: 'label' } },
      { key: 'note', comment: 'only this' },
    ])
      expect((await judge({ run_id: run.id, ...more })).status).toBe(200);
    const expected = {
      label: stats({ n: 3, values: { good: 2 }, errors: 1 }),
      note: stats({ comments: ['only this'] }),
      score: stats({
        n: 2,
        avg: 0.625,
        stdev: expect.closeTo(0.5303, 4),
        min: 0.25,
        max: 1,
        comments: ['second', 'first'],
        sources: ['api', 'model'],
      }),
    };
    expect((await tenant.call('GET', `/runs/${run.id}`)).json.feedback_stats).toEqual(expected);
    const { json } = await tenant.call('POST', '/runs/query', {
      session: [project],
      select: ['id', 'feedback_stats'],
    });
    const listed = Object.fromEntries(json.runs.map((one: { id: string }) => [one.id, one]));
    expect(listed).toMatchObject({
      [run.id]: { id: run.id, feedback_stats: expected },
      [silent.id]: { id: silent.id, feedback_stats: null },
    });
    const selects = ['ID', 'FEEDBACK_STATS'];
    const body = {
      project_ids: [project],
      selects,
      min_start_time: '2026-11-01T00:00:00Z',
      sort_order: 'ASC',
    };
    const { items } = (await tenant.call('POST', '/api/v2/runs/query', body)).json;
    expect(items).toContainEqual({ id: run.id, feedback_stats: expected });
    const one = `/api/v2/runs/${run.id}?project_id=${project}&selects=FEEDBACK_STATS`;
    expect((await tenant.call('GET', one)).json).toEqual({ feedback_stats: expected });
    const filtered = (filter: string) =>
      tenant.call('POST', '/runs/query', { session: [project], filter, select: ['id'] });
    for (const filter of [
      'and(eq(feedback_key, "score"), gt(feedback_score, 0.5))',
      'and(eq(feedback_key, "label"), eq(feedback_value, "good"))',
      'eq(feedback_source, "model")',
    ])
      expect((await filtered(filter)).json.runs).toMatchObject([{ id: run.id }]);
    expect((await filtered('and(eq(feedback_key, "score"), gt(feedback_score, 1))')).json.runs).toEqual([]);
  });
});

describe('GET /feedback', () => {
  it('answers what is stored as JSON byte by byte, and parses none of it', async () => {
    const run = await sendRun({ session_name: 'as stored' });
    const { id } = (await judge({ run_id: run.id, key: 'first' })).json;
    for (const key of ['second', 'third']) await judge({ run_id: run.id, key, value: key });
    const stored = '{"n": 1.50,"m":12345678901234567890}';
    const client = new pg.Client({ connectionString: api.storeUri });
    await client.connect();
    await client.query('UPDATE feedback SET extra = $2, correction = $2 WHERE id = $1', [id, stored]);
    await client.end();
    const headers = { 'x-api-key': tenant.key };
    const parsed = jest.spyOn(JSON, 'parse');
    for (const path of [`/feedback?run=${run.id}`, `/feedback/${id}`]) {
      const answer = await fetch(`${api.url}${path}`, { headers });
      const text = await answer.text();
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'application/json; charset=utf-8',
      ]);
      expect(text.split(stored)).toHaveLength(3);
    }
    const texts = parsed.mock.calls.map(([text]) => text);
    parsed.mockRestore();
    expect(texts.filter((text) => text.includes('12345678901234567890'))).toEqual([]);
    const { json } = await tenant.call('GET', `/feedback?run=${run.id}`);
    expect(json.map(({ key }: { key: string }) => key)).toEqual(['third', 'second', 'first']);
  });
});

describe('the scope of a key', () => {
  it('bounds what is done with feedback', async () => {
    const [own, foreign] = [await sendRun({ session_name: 'agent' }), await sendRun()];
    const { id } = (await judge({ run_id: foreign.id, key: 'k' })).json;
    const keyOf = async (
      grant: Parameters<typeof api.store.apiKeys.mint>[1],
    ): Promise<Record<string, string>> => ({
      'x-api-key': (await api.store.apiKeys.mint(tenant.tenantId, grant)).key,
    });
    const grant = { name: 'd', scope: 'deployment', deployment: randomUUID(), project: 'agent' } as const;
    const [agent, reader, sender] = [
      await keyOf(grant),
      await keyOf({ name: 'r', scope: 'read' }),
      await keyOf({ name: 'i', scope: 'ingest' }),
    ];
    const made = await tenant.call('POST', '/feedback', { run_id: own.id, key: 'mine' }, agent);
    expect([made.status, made.json.session_id]).toEqual([200, await projectId('agent')]);
    const asAgent = (method: string, path: string, body?: object) => tenant.call(method, path, body, agent);
    expect((await asAgent('GET', '/feedback')).json.map(({ key }: { key: string }) => key)).toEqual(['mine']);
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect(
        (await asAgent(method, `/feedback/${id}`, method === 'PATCH' ? { score: 1 } : undefined)).status,
      ).toBe(404);
    const taken = await asAgent('POST', '/feedback', { id, run_id: foreign.id, key: 'k', score: 9 });
    expect([taken.status, taken.json.detail[0].type]).toEqual([422, 'other_run']);
    const elsewhere = { run_id: own.id, session_id: await projectId('judged'), key: 'k' };
    expect((await asAgent('POST', '/feedback', elsewhere)).status).toBe(403);
    // as if the run had not arrived: this key cannot reach it
    const hidden = (await asAgent('POST', '/feedback', { run_id: foreign.id, key: 'k' })).json;
    expect([hidden.start_time, hidden.session_id]).toEqual([null, await projectId('agent')]);
    expect((await asAgent('DELETE', `/feedback/${made.json.id}`)).status).toBe(200);
    expect((await tenant.call('GET', '/feedback', undefined, reader)).status).toBe(200);
    expect((await tenant.call('POST', '/feedback', { run_id: own.id, key: 'k' }, reader)).status).toBe(403);
    expect((await tenant.call('POST', '/feedback', { run_id: own.id, key: 'k' }, sender)).status).toBe(200);
    expect((await tenant.call('GET', '/feedback', undefined, sender)).status).toBe(403);
    const other = await api.workspace();
    expect((await other.call('GET', `/feedback/${id}`)).status).toBe(404);
    expect((await other.call('GET', `/feedback?run=${foreign.id}`)).json).toEqual([]);
  });
});

describe('a presigned token', () => {
  const give = (url: string, body?: object): Promise<Response> =>
    fetch(url, {
      method: body ? 'POST' : 'GET',
      ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
    });
  const of = async (runId: string): Promise<readonly Record<string, unknown>[]> =>
    (await tenant.call('GET', `/feedback?run=${runId}`)).json;

  it('takes feedback of its run without a key', async () => {
    const run = await sendRun();
    const { url, id } = await sdk().createPresignedFeedbackToken(run.id, 'thumbs', {
      feedbackConfig: { type: 'continuous', min: 0, max: 1, categories: null },
    });
    expect(url.startsWith(`${api.url}/feedback/tokens/`)).toBe(true);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect(await of(run.id)).toEqual([]);
    const asked = await give(`${url}?score=1&comment=fine&value=up&correction=none`);
    expect([asked.status, await asked.json()]).toEqual([200, { message: 'Feedback was recorded' }]);
    const body = { score: true, value: { a: 1 }, correction: null, comment: null, metadata: { page: 1 } };
    expect((await give(url, body)).status).toBe(200);
    const common = { run_id: run.id, key: 'thumbs', session_id: await projectId('judged') };
    const config = { feedback_config: { type: 'continuous', min: 0, max: 1, categories: null } };
    expect(await of(run.id)).toMatchObject([
      {
        ...common,
        ...config,
        score: true,
        value: { a: 1 },
        feedback_source: { type: 'api', metadata: { page: 1 } },
      },
      { ...common, ...config, score: 1, value: 'up', comment: 'fine', correction: 'none' },
    ]);
    const [listed, ...more] = await all(sdk().listPresignedFeedbackTokens(run.id));
    expect([listed?.id, listed?.url.endsWith('/feedback/tokens/shown-once'), more]).toEqual([id, true, []]);
    const rest = { run_id: run.id, feedback_key: 'thumbs' };
    expect((await tenant.call('GET', `/feedback/tokens?run_id=${run.id}`)).json).toHaveLength(1);
    expect((await tenant.call('POST', '/api/v1/feedback/tokens', rest)).json.url).toContain(
      '/api/v1/feedback/tokens/',
    );
  });

  it('replaces the feedback whose id it was made for', async () => {
    const run = await sendRun();
    const id = randomUUID();
    const asked = { run_id: run.id, feedback_key: 'k', id, expires_in: { days: 1, hours: 0, minutes: 0 } };
    const { url } = (await tenant.call('POST', '/feedback/tokens', asked)).json;
    for (const score of [1, 0]) expect((await give(`${url}?score=${score}`)).status).toBe(200);
    expect(await of(run.id)).toMatchObject([{ id, score: 0 }]);
  });

  it('comes in a list where a list is sent', async () => {
    const run = await sendRun();
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json' };
    const body = JSON.stringify(['a', 'b'].map((feedback_key) => ({ run_id: run.id, feedback_key })));
    const answer = await fetch(`${api.url}/feedback/tokens`, { method: 'POST', headers, body });
    const tokens = (await answer.json()) as { readonly url: string }[];
    expect(tokens).toHaveLength(2);
    expect((await give(`${tokens[1]?.url}?score=2`)).status).toBe(200);
    expect(await of(run.id)).toMatchObject([{ key: 'b', score: 2 }]);
    const many = JSON.stringify(Array.from({ length: 99 }, () => ({ run_id: run.id, feedback_key: 'k' })));
    const refused = await fetch(`${api.url}/feedback/tokens`, { method: 'POST', headers, body: many });
    const { detail } = (await refused.json()) as { readonly detail: readonly object[] };
    expect([refused.status, detail]).toMatchObject([
      422,
      [{ loc: ['body', 98, 'run_id'], type: 'too_many_tokens' }],
    ]);
  });

  it('expires at its time and disappears with its run', async () => {
    const run = await sendRun();
    const make = async (more: object) =>
      (await tenant.call('POST', '/feedback/tokens', { run_id: run.id, feedback_key: 'k', ...more })).json;
    for (const more of [
      { expires_at: '2020-01-01T00:00:00Z' },
      { expires_in: { days: 366, hours: 1 } },
      { expires_in: {} },
    ])
      expect((await make(more)).detail).toMatchObject([{ type: 'value_error' }]);
    expect((await make({ feedback_key: undefined })).detail).toMatchObject([{ type: 'missing' }]);
    const { url } = await make({});
    expect((await give(`${url}?score=high`)).status).toBe(422);
    expect((await give(`${url}?x=1`)).status).toBe(422);
    expect((await give(url, { score: 1, run_id: randomUUID() })).status).toBe(422);
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => (await give(`${url}?score=1`)).status),
    );
    expect([...new Set(statuses)].sort()).toEqual([200, 429]);
    const body = { session_id: await projectId('judged'), trace_ids: [run.id] };
    const second = (await make({})).url as string;
    await tenant.call('POST', '/runs/delete', body);
    expect((await give(`${second}?score=1`)).status).toBe(404);
    const unknown = await give(`${api.url}/feedback/tokens/${randomUUID()}`);
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      { detail: 'The feedback token does not exist or has expired; ask for another' },
    ]);
    expect((await give(`${api.url}/feedback/tokens/shown-once`)).status).toBe(422);
  });

  it('works while others guess tokens from the same address', async () => {
    const run = await sendRun();
    const [one, other] = [
      (await sdk().createPresignedFeedbackToken(run.id, 'k')).url,
      (await sdk().createPresignedFeedbackToken(run.id, 'k')).url,
    ];
    const tries = Array.from({ length: 200 }, () => give(`${api.url}/feedback/tokens/${randomUUID()}`));
    // one bit of a token that exists
    const forged = one.replace(/.$/, (last) => (parseInt(last, 16) ^ 1).toString(16));
    const statuses = (await Promise.all([...tries, give(forged)])).map(({ status }) => status);
    expect([...new Set(statuses)]).toEqual([404]);
    for (const url of [one, other]) expect((await give(`${url}?score=1`)).status).toBe(200);
    const upper = one.replace(/[^/]+$/, (token) => token.toUpperCase());
    expect((await give(`${upper}?score=1`)).status).toBe(200);
  });

  it('costs no look-up when the platform did not make it', async () => {
    const run = await sendRun();
    const { url } = await sdk().createPresignedFeedbackToken(run.id, 'k');
    expect((await give(url)).status).toBe(200);
    const db = new pg.Client({ connectionString: api.storeUri });
    await db.connect();
    // every lookup of a token waits for this
    await db.query('BEGIN; LOCK TABLE feedback_tokens IN ACCESS EXCLUSIVE MODE');
    expect((await give(`${api.url}/feedback/tokens/${randomUUID()}?score=1`)).status).toBe(404);
    await db.query('ROLLBACK');
    await db.end();
  });

  it('fails beyond 10,000 of a workspace for runs that have not arrived', async () => {
    const other = await api.workspace();
    const db = new pg.Client({ connectionString: api.storeUri });
    await db.connect();
    await db.query(
      `INSERT INTO feedback_tokens (tenant_id, id, hash, run_id, key, expires_at, waits)
      SELECT $1, gen_random_uuid(), sha256(n::text::bytea), gen_random_uuid(), 'k', now() + interval '1 day', true
      FROM generate_series(1, 9999) n`,
      [other.tenantId],
    );
    const run = { id: randomUUID(), name: 'r', run_type: 'chain', start_time: '2026-11-20T00:00:00Z' };
    const mint = (run_id: string) => other.call('POST', '/feedback/tokens', { run_id, feedback_key: 'k' });
    expect((await mint(run.id)).status).toBe(200);
    const refused = await mint(randomUUID());
    expect([refused.status, refused.json.detail[0]]).toMatchObject([
      422,
      {
        type: 'too_many_tokens',
        loc: ['body', 'run_id'],
        msg: expect.stringMatching(/10000 tokens of the workspace are for runs that have not arrived/),
      },
    ]);
    // the run comes: its token waits no more, and one of its own never did
    expect((await other.call('POST', '/runs', run)).status).toBe(202);
    expect((await mint(randomUUID())).status).toBe(200);
    expect((await mint(run.id)).status).toBe(200);
    expect((await mint(randomUUID())).status).toBe(422);
    await db.end();
  });
});
