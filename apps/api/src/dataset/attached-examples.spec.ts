import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import pg from 'pg';
import type { FaultHook } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { pythonWith, testPostgres } from '#lib/testing';
import { type AttachmentBucket, startAttachmentBucket } from '../testdata/attachment-bucket.js';
import {
  prepareKube,
  prepareStore,
  runApi,
  type RunningApi,
  type TestTenant,
} from '../testdata/running-api.js';

const SCRIPT = join(import.meta.dirname, '..', 'testdata', 'attach-examples.py');
/** A Python with `langsmith`. */
const python = pythonWith('langsmith');
const NOTE = Buffer.from('é');
const LARGE = Buffer.alloc(20 << 20, 'x');

let api: RunningApi;
let tenant: TestTenant;
let bucket: AttachmentBucket;
let fault: FaultHook | undefined;
let db: pg.Client;
let client: Client;

// before that of the databases: the api stops first
afterAll(async () => {
  await db.end();
  await api.stop();
  await bucket.stop();
});
const postgres = testPostgres();
beforeAll(async () => {
  bucket = await startAttachmentBucket('attachments-of-examples', (target) => fault?.(target));
  const [store, kube] = [
    await postgres.freshDatabase(prepareStore),
    await postgres.freshDatabase(prepareKube),
  ];
  const log = createLogger('test', 'silent');
  api = await runApi(store.uri, kube.uri, { log, attachments: bucket.attachments });
  tenant = await api.workspace();
  db = new pg.Client({ connectionString: store.uri });
  await db.connect();
  client = new Client({ apiUrl: api.url, apiKey: tenant.key });
});
afterEach(() => {
  fault = undefined;
});

type Links = Readonly<Record<string, { readonly presigned_url: string; readonly mime_type: string }>>;

async function linksOf(id: string, of: TestTenant = tenant): Promise<Links> {
  return (
    ((await of.call('GET', `/examples/${id}`)).json as { attachment_urls: Links | null }).attachment_urls ??
    {}
  );
}

async function bytesOf(id: string): Promise<Readonly<Record<string, string>>> {
  const links = await linksOf(id);
  const read = await Promise.all(
    Object.entries(links).map(async ([name, { presigned_url: url }]) => {
      const answer = await fetch(url);
      return [name, `${answer.status} ${answer.headers.get('content-type')} ${await answer.text()}`] as const;
    }),
  );
  return Object.fromEntries(read);
}

/** Tidies as if an hour had gone by, and counts the rest. */
async function objectsLeft(): Promise<number> {
  await db.query('UPDATE attachment_objects SET check_after = now() WHERE check_after IS NOT NULL');
  await api.services.attachmentTidying.tidy();
  return (await db.query('SELECT FROM attachment_objects')).rowCount ?? -1;
}

async function upload(datasetId: string, method: string, parts: Readonly<Record<string, string>>) {
  const form = new FormData();
  for (const [name, body] of Object.entries(parts))
    form.append(name, new Blob([body], { type: 'text/plain' }));
  const url = `${api.url}/v1/platform/datasets/${datasetId}/examples`;
  const answer = await fetch(url, { method, headers: { 'x-api-key': tenant.key }, body: form });
  return { status: answer.status, text: await answer.text() };
}

describe('an example with attachments', () => {
  it('keeps those of earlier versions while the JavaScript client adds, renames and drops some', async () => {
    const dataset = await client.createDataset('attached');
    const [made] = await client.createExamples([
      {
        dataset_id: dataset.id,
        inputs: { n: 1 },
        outputs: { a: 1 },
        attachments: {
          note: { mimeType: 'text/plain', data: NOTE },
          large: { mimeType: 'image/png', data: LARGE },
        },
      },
    ]);
    const id = made?.id ?? '';
    const listed = [];
    for await (const example of client.listExamples({ datasetId: dataset.id, includeAttachments: true }))
      listed.push(example);
    expect(Object.keys(listed[0]?.attachments ?? {}).sort()).toEqual(['large', 'note']);
    const { attachments = {} } = await client.readExample(id);
    expect(attachments['note']).toMatchObject({ mime_type: 'text/plain' });
    expect(await (await fetch(attachments['note']?.presigned_url ?? '')).text()).toBe('é');
    const large = await fetch(attachments['large']?.presigned_url ?? '');
    expect(Buffer.from(await large.arrayBuffer()).equals(LARGE)).toBe(true);

    await client.updateExample({
      id,
      dataset_id: dataset.id,
      attachments: { more: { mimeType: 'text/csv', data: Buffer.from('a,b') } },
    });
    expect(Object.keys(await linksOf(id))).toEqual([
      'attachment.large',
      'attachment.more',
      'attachment.note',
    ]);
    await client.updateExample({
      id,
      dataset_id: dataset.id,
      attachments_operations: { rename: { note: 'letter' }, retain: ['more'] },
    });
    expect(await bytesOf(id)).toEqual({
      'attachment.letter': '200 text/plain é',
      'attachment.more': '200 text/csv a,b',
    });
    // a change without them leaves them, one that changes nothing makes no version
    await client.updateExample({ id, dataset_id: dataset.id, inputs: { n: 2 } });
    const { modified_at: now } = await client.readExample(id);
    await client.updateExample({
      id,
      dataset_id: dataset.id,
      attachments_operations: { retain: ['letter', 'more'] },
    });
    expect((await client.readExample(id)).modified_at).toBe(now);
    expect(Object.keys(await linksOf(id))).toEqual(['attachment.letter', 'attachment.more']);
    const asOf = encodeURIComponent(made?.modified_at ?? '');
    const before = (await tenant.call('GET', `/examples/${id}?as_of=${asOf}`)).json;
    expect(Object.keys(before.attachment_urls)).toEqual(['attachment.large', 'attachment.note']);

    expect(await objectsLeft()).toBe(3);
    await client.deleteExample(id);
    expect(await objectsLeft()).toBe(3);
    await client.deleteDataset({ datasetId: dataset.id });
    expect(await objectsLeft()).toBe(0);
  });

  it('leaves bytes to another example when it is deleted for good, and goes with them as the last', async () => {
    const dataset = await client.createDataset('twice the same');
    const attachments = { note: { mimeType: 'text/plain', data: NOTE } };
    const [one, other] = await client.createExamples(
      [1, 2].map((n) => ({ dataset_id: dataset.id, inputs: { n }, attachments })),
    );
    const url = (await linksOf(one?.id ?? ''))['attachment.note']?.presigned_url ?? '';
    expect(await objectsLeft()).toBe(1);
    const remove = (id: string | undefined) =>
      tenant.call('POST', '/v1/platform/datasets/examples/delete', { example_ids: [id], hard_delete: true });
    await remove(one?.id);
    expect((await fetch(url)).status).toBe(404);
    expect(await objectsLeft()).toBe(1);
    expect(await bytesOf(other?.id ?? '')).toEqual({ 'attachment.note': '200 text/plain é' });
    await remove(other?.id);
    expect(await objectsLeft()).toBe(0);
  });

  it.each<[string, string, (id: string) => Readonly<Record<string, string>>, number, string]>([
    [
      'a name that is too long',
      'POST',
      (id) => ({ [`${id}.attachment.${'n'.repeat(201)}`]: 'x' }),
      422,
      '1 to 200 characters',
    ],
    [
      'operations that are no JSON',
      'PATCH',
      (id) => ({ [`${id}.attachments_operations`]: '{' }),
      422,
      'the part is not JSON',
    ],
    [
      'operations of another shape',
      'PATCH',
      (id) => ({ [`${id}.attachments_operations`]: '{"retain":"a"}' }),
      422,
      'should be {',
    ],
    [
      'a name that does not exist',
      'PATCH',
      (id) => ({ [`${id}.attachments_operations`]: '{"retain":["a"]}' }),
      404,
      'no attachment a to retain',
    ],
    [
      'operations that name an attachment again',
      'PATCH',
      (id) => ({ [`${id}.attachments_operations`]: '{"retain":["a","b","a"]}' }),
      422,
      'should name each attachment once',
    ],
    [
      'operations on 101 attachments',
      'PATCH',
      (id) => ({
        [`${id}.attachments_operations`]: JSON.stringify({
          retain: Array.from({ length: 100 }, (_, n) => `a${n}`),
          rename: { b: 'c' },
        }),
      }),
      422,
      'names 101 attachments',
    ],
    [
      '101 of one example',
      'POST',
      (id) => Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`${id}.attachment.${n}`, 'x'])),
      403,
      'may have 100',
    ],
  ])('enters no dataset with %s', async (name, method, parts, status, text) => {
    const dataset = await client.createDataset(name);
    const id = randomUUID();
    if (method === 'PATCH') await upload(dataset.id, 'POST', { [id]: '{}', [`${id}.inputs`]: '{}' });
    const answer = await upload(dataset.id, method, { [id]: '{}', ...parts(id) });
    expect(answer).toMatchObject({ status, text: expect.stringContaining(text) });
    expect((await client.readDataset({ datasetId: dataset.id })).example_count).toBe(
      method === 'PATCH' ? 1 : 0,
    );
    expect(await objectsLeft()).toBe(0);
  });

  it('makes no version of a change that leaves it without attachments as it was', async () => {
    const dataset = await client.createDataset('without');
    const id = randomUUID();
    await upload(dataset.id, 'POST', { [id]: '{}', [`${id}.inputs`]: '{}' });
    const before = await client.readExample(id);
    await client.updateExample({ id, dataset_id: dataset.id, attachments_operations: { retain: [] } });
    expect((await client.readExample(id)).modified_at).toBe(before.modified_at);
  });

  it('stays unknown to another workspace', async () => {
    const other = await api.workspace();
    const dataset = await client.createDataset('of one workspace');
    const id = randomUUID();
    await upload(dataset.id, 'POST', {
      [id]: '{}',
      [`${id}.inputs`]: '{}',
      [`${id}.attachment.note`]: 'own',
    });
    expect(await bytesOf(id)).toEqual({ 'attachment.note': '200 text/plain own' });
    expect((await other.call('GET', `/examples/${id}`)).status).toBe(404);
  });

  (python ? it : it.skip)(
    'is made, evaluated, changed and read by the Python client',
    async () => {
      const own = await api.workspace();
      const options = {
        timeout: 60_000,
        env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', LANGSMITH_TRACING: 'false' },
      };
      const { stdout } = await promisify(execFile)(python, [SCRIPT, api.url, own.key], options);
      const [note, picture] = [
        ['text/plain', true],
        ['image/png', true],
      ];
      expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')).toEqual({
        listed: { note, picture },
        none: {},
        read: { note, picture },
        before: { note, picture },
        evaluated: [{ lengths: { note: 2, picture: 256 * 9_000 } }],
        changed: { sketch: picture, more: note },
      });
    },
    90_000,
  );

  // the last: the store is left alone for ten seconds
  it('enters no dataset while the object store is unavailable', async () => {
    const dataset = await client.createDataset('unavailable');
    fault = () => ({ kind: 'error', code: 'AccessDenied' });
    const id = randomUUID();
    const answer = await upload(dataset.id, 'POST', { [id]: '{}', [`${id}.attachment.a`]: 'x'.repeat(100) });
    expect(answer).toMatchObject({
      status: 503,
      text: expect.stringContaining('object store is unavailable'),
    });
    expect((await client.readDataset({ datasetId: dataset.id })).example_count).toBe(0);
  });
});
