import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Client, RunTree } from 'langsmith';
import type { TestAnswer } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();

/** A create of a run as JSON text; `more` has further members as JSON text. */
const create = (id: string, more = '', project = 'p'): string =>
  `{"id":"${id}","name":"n","run_type":"llm","session_name":"${project}"${more}}`;

const problems = async (project?: string): Promise<TestAnswer['json']> => {
  const found = project === undefined ? [] : (await tenant.call('GET', `/sessions?name=${project}`)).json;
  const query = project === undefined ? '' : `?session_id=${found[0].id}`;
  return (await tenant.call('GET', `/ingest-problems${query}`)).json;
};

const multipart = (...parts: readonly (readonly [name: string, body: string])[]) =>
  tenant.call(
    'POST',
    '/runs/multipart',
    parts
      .map(([name, body]) => `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${body}\r\n`)
      .join('') + '--XX--\r\n',
    { 'content-type': 'multipart/form-data; boundary=XX' },
  );

const DROPPED = ['unknown_member', 'usage_not_understood', 'not_a_call'];

describe('ingestion of a run with an odd member', () => {
  it.each<[string, string, string, unknown, string]>([
    ['a tag that is a number', ',"tags":["a",1,{"b":null}]', 'tags', ['a', '1', '{"b":null}'], 'string_type'],
    [
      'NaN in its inputs',
      ',"inputs":{"v":[NaN,-Infinity,"NaN"]}',
      'inputs',
      { v: [null, null, 'NaN'] },
      'not_finite',
    ],
    ['NaN for its tokens', ',"total_tokens":NaN', 'total_tokens', 0, 'not_finite'],
    ['NaN for its whole error', ',"error":NaN', 'error', null, 'not_finite'],
    [
      'more tokens than a number counts',
      ',"outputs":{"usage":{"input_tokens":9007199254740991,"output_tokens":1}}',
      'outputs',
      { usage: { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 1 } },
      'tokens_too_many',
    ],
    ['fewer tokens than none', ',"total_tokens":-1', 'total_tokens', 0, 'usage_not_understood'],
    ['a cost beyond its column', ',"total_cost":1e8', 'total_cost', null, 'usage_not_understood'],
    ['tokens of a chain', ',"run_type":"chain","total_tokens":5', 'total_tokens', 0, 'not_a_call'],
    [
      'tokens of another shape',
      ',"outputs":{"usage":{"token_units":7}}',
      'outputs',
      { usage: { token_units: 7 } },
      'usage_not_understood',
    ],
    ['a status of its own', ',"status":"weird"', 'status', 'pending', 'enum'],
    ['a member of its own', ',"colour":"red"', 'colour', undefined, 'unknown_member'],
  ])('keeps a run with %s and names the member', async (_, more, member, value, type) => {
    const [odd, plain] = [randomUUID(), randomUUID()];
    const body = `{"post":[${create(odd, more)},${create(plain)}]}`;
    const answer = await tenant.call('POST', '/runs/batch', body);
    const mended = [{ loc: ['body', 'post', 0, member], msg: expect.any(String), type }];
    expect([answer.status, answer.json.mended]).toEqual([202, mended]);
    expect((await tenant.call('GET', `/runs/${odd}`)).json[member]).toEqual(value);
    expect((await tenant.call('GET', `/runs/${plain}`)).status).toBe(200);
    expect((await problems('p')).recent[0]).toMatchObject({
      kind: DROPPED.includes(type) ? 'dropped' : 'mended',
      type,
      run_id: odd,
      member,
    });
  });

  it('cuts a name, but never within a character', async () => {
    const id = randomUUID();
    const name = 'x'.repeat(9_999) + '\u{1F600}';
    const run = { id, name, run_type: 'chain' };
    expect((await tenant.call('POST', '/runs', run)).json.mended).toMatchObject([{ loc: ['body', 'name'] }]);
    expect((await tenant.call('GET', `/runs/${id}`)).json.name).toBe('x'.repeat(9_999));
  });

  it('keeps a run with NaN in an update that waits for it', async () => {
    const id = randomUUID();
    const update = await multipart(
      [`patch.${id}`, `{"id":"${id}"}`],
      [`patch.${id}.outputs`, '{"score":NaN}'],
    );
    expect([update.status, update.json.mended[0].loc]).toEqual([202, ['body', `patch.${id}`, 'outputs']]);
    await tenant.call('POST', '/runs', create(id));
    expect((await tenant.call('GET', `/runs/${id}`)).json.outputs).toEqual({ score: null });
  });

  it('refuses text that only looks like NaN', async () => {
    for (const inputs of ['NaNa', 'nan', '+Infinity', '{"a":NaN,}', 'NaN NaN'])
      expect((await tenant.call('POST', '/runs', create(randomUUID(), `,"inputs":${inputs}`))).status).toBe(
        422,
      );
  });
});

describe('ingestion of a run without an id', () => {
  it('gives it one that the answer names', async () => {
    const run = { name: 'idless', run_type: 'chain', inputs: { a: 1 } };
    const { status, json } = await tenant.call('POST', '/runs', run);
    const [id] = /[0-9a-f-]{36}/.exec(json.mended[0].msg as string) ?? [];
    expect([status, (await tenant.call('GET', `/runs/${id}`)).json.name]).toEqual([202, 'idless']);
  });

  it('takes it from the JS SDK', async () => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key, autoBatchTracing: false });
    await client.createRun({ name: 'r', run_type: 'chain', inputs: {}, project_name: 'idless' });
    expect((await problems('idless')).counts).toMatchObject([{ kind: 'mended', type: 'missing', count: 1 }]);
  });
});

describe('GET /ingest-problems', () => {
  it('names refused runs, also those of projects that do not exist', async () => {
    const [bad, lost] = [randomUUID(), randomUUID()];
    await tenant.call('POST', '/sessions', { name: 'refusals' });
    const body = `{"post":[${create(bad, ',"end_time":"never"', 'refusals')},{"id":"${lost}","session_id":"${randomUUID()}","name":"n","run_type":"x"}]}`;
    expect((await tenant.call('POST', '/runs/batch', body)).status).toBe(422);
    expect(await problems('refusals')).toMatchObject({
      counts: [{ kind: 'refused', type: 'datetime_parsing', count: 1 }],
      recent: [{ run_id: bad, member: 'end_time', message: expect.stringContaining('ISO 8601') }],
    });
    expect((await problems()).recent).toContainEqual(
      expect.objectContaining({ kind: 'refused', run_id: lost, session_id: null, type: 'not_found' }),
    );
  });

  it('names attachments, which are not stored yet', async () => {
    const id = randomUUID();
    const answer = await multipart([`post.${id}`, create(id, '', 'parts')], [`attachment.${id}.photo`, 'x']);
    expect(answer.json.not_kept).toEqual({ attachments: 1 });
    expect((await problems('parts')).recent).toMatchObject([
      { kind: 'dropped', type: 'attachment', run_id: id, member: 'photo' },
    ]);
  });

  it('names requests of which nothing could be read', async () => {
    await tenant.call('POST', '/runs/batch', '{"posts":[]}');
    expect((await problems()).recent[0]).toMatchObject({ type: 'extra_forbidden', run_id: null });
    await multipart(['post.x', '{}'], ['', '']);
    expect((await tenant.call('POST', '/runs/batch', '{"post":[')).status).toBe(422);
    expect((await problems()).recent[0]).toMatchObject({ kind: 'refused', type: 'json_invalid' });
  });

  it('keeps the newest hundred, counts all, and forgets them with the project', async () => {
    const runs = Array.from({ length: 130 }, (_, n) => create(randomUUID(), `,"own":${n + 1}`, 'many'));
    for (const half of [runs.slice(0, 120), runs.slice(120)])
      await tenant.call('POST', '/runs/batch', `{"post":[${half.join(',')}]}`);
    const { counts, recent } = await problems('many');
    expect([counts[0].count, recent.length]).toEqual([130, 100]);
    const id = recent[0].session_id;
    await tenant.call('DELETE', `/sessions/${id}`);
    expect((await tenant.call('GET', `/ingest-problems?session_id=${id}`)).json).toEqual({
      counts: [],
      recent: [],
    });
  });

  it('hides the problems of other workspaces', async () => {
    const other = await api.workspace();
    expect((await other.call('GET', '/ingest-problems')).json).toEqual({ counts: [], recent: [] });
  });

  it('reports nothing of what the SDK always sends', async () => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    const run = new RunTree({ name: 'r', run_type: 'chain', inputs: {}, client, project_name: 'quiet' });
    await run.postRun();
    const child = run.createChild({ name: 'c', run_type: 'llm', inputs: { a: 1 }, serialized: { s: 1 } });
    await child.postRun();
    await child.end({ b: 1 });
    await child.patchRun();
    await run.end({ b: 1 });
    await run.patchRun();
    await client.awaitPendingTraceBatches();
    expect(await problems('quiet')).toEqual({ counts: [], recent: [] });
  });
});
