import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import pg from 'pg';
import type { FaultHook } from '#lib/embedded-object-store';
import { RESOURCES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { pythonWith, testPostgres, waitFor } from '#lib/testing';
import { type AttachmentBucket, startAttachmentBucket } from '../testdata/attachment-bucket.js';
import {
  prepareKube,
  prepareStore,
  runApi,
  type RunningApi,
  type TestTenant,
} from '../testdata/running-api.js';

const MIB = 1 << 20;
const ATTACH = join(import.meta.dirname, '..', 'testdata', 'attach.py');
/** A Python with `langsmith`. */
const python = pythonWith('langsmith');
const BUCKET = 'attachments-of-tests';

let api: RunningApi;
let tenant: TestTenant;
let folder: string;
let bucket: AttachmentBucket;
let fault: FaultHook | undefined;
let db: pg.Client;

// before that of the databases: the api stops first
afterAll(async () => {
  await db.end();
  await api.stop();
  await bucket.stop();
});
const postgres = testPostgres();
beforeAll(async () => {
  const log = createLogger('test', 'fatal');
  bucket = await startAttachmentBucket(BUCKET, (target) => fault?.(target));
  ({ folder } = bucket);
  const [store, kube] = [
    await postgres.freshDatabase(prepareStore),
    await postgres.freshDatabase(prepareKube),
  ];
  api = await runApi(store.uri, kube.uri, { log, attachments: bucket.attachments });
  tenant = await api.workspace();
  db = new pg.Client({ connectionString: store.uri });
  await db.connect();
});
afterEach(() => {
  fault = undefined;
});
type Part = readonly [name: string, body: string | Buffer, contentType?: string];

function form(parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(([name, body, type = 'application/json']) => [
    Buffer.from(
      `--XX\r\nContent-Disposition: form-data; name="${name.replace(/["\\]/g, '\\$&')}"\r\nContent-Type: ${type}\r\n\r\n`,
    ),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from('--XX--\r\n')]);
}

async function send(parts: readonly Part[], key = tenant.key) {
  const headers = { 'x-api-key': key, 'content-type': 'multipart/form-data; boundary=XX' };
  const body = new Uint8Array(form(parts));
  const answer = await fetch(`${api.url}/runs/multipart`, { method: 'POST', headers, body });
  expect(api.services.ingestion.heldBytes).toBe(0);
  return { status: answer.status, json: (await answer.json()) as { mended?: unknown; not_kept?: unknown } };
}

const runPart = (id: string, more: object = {}): Part => [
  `post.${id}`,
  JSON.stringify({ id, trace_id: id, name: 'n', run_type: 'chain', session_name: 'p', ...more }),
];

async function urlOf(id: string, name: string, of: TestTenant = tenant): Promise<string> {
  const { json } = await of.call('GET', `/runs/${id}`);
  return (json as { s3_urls: Record<string, { presigned_url: string }> }).s3_urls[`attachment.${name}`]
    ?.presigned_url as string;
}

async function fetched(url: string): Promise<Buffer> {
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

/** A download whose client reads the beginning of the answer, and no more. */
async function unread(url: string): Promise<{ socket: Socket; head: string }> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return { socket, head: head.toString('latin1') };
}

/** Objects and open uploads in the store, of one tenant. */
async function filesOf(tenantId: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  return all.filter((one) => one.isFile() && one.parentPath.includes(tenantId)).map(({ name }) => name);
}

async function tidy(): Promise<void> {
  await api.store.tidy();
  await api.services.attachmentTidying.tidy();
}

/** Makes the attachments due for the check at once. */
const makeDue = () =>
  db.query(
    `UPDATE attachment_objects SET check_after = now() - interval '1 s' WHERE check_after IS NOT NULL`,
  );

describe('the JavaScript client', () => {
  it('keeps the bytes of attachments, whether few or 20 MiB', async () => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key, autoBatchTracing: false });
    const [id, small, large] = [randomUUID(), randomBytes(10), randomBytes(20 * MIB + 1)];
    await client.multipartIngestRuns({
      runCreates: [
        {
          id,
          trace_id: id,
          name: 'n',
          run_type: 'chain',
          inputs: {},
          project_name: 'p',
          dotted_order: `20260101T000000000000Z${id}`,
          attachments: {
            small: ['text/plain', new Uint8Array(small)],
            'größe x; y=z': { mimeType: 'image/png', data: new Uint8Array(large) },
          },
        } as never,
      ],
    });
    expect(await fetched(await urlOf(id, 'small'))).toEqual(small);
    expect((await fetched(await urlOf(id, 'größe x; y=z'))).equals(large)).toBe(true);
    const { json } = await tenant.call('POST', '/runs/query', { id: [id], select: ['id', 's3_urls'] });
    expect(Object.keys((json as { runs: { s3_urls: object }[] }).runs[0]?.s3_urls ?? {})).toHaveLength(2);
    const project = (await tenant.call('GET', '/sessions?name=p')).json as { id: string }[];
    const v2 = `/api/v2/runs/${id}?project_id=${project[0]?.id}&selects=ATTACHMENTS`;
    const { attachments } = (await tenant.call('GET', v2)).json as { attachments: Record<string, string> };
    expect(await fetched(attachments.small ?? '')).toEqual(small);
  });
});

describe('an attachment of a shared trace', () => {
  it('opens by the link until sharing ends', async () => {
    const id = randomUUID();
    await send([runPart(id), [`attachment.${id}.a`, 'shared', 'text/plain']]);
    const { share_token: token } = (await tenant.call('PUT', `/runs/${id}/share`, {})).json as {
      share_token: string;
    };
    const shared = await fetch(`${api.url}/public/${token}/run`);
    const { s3_urls: urls } = (await shared.json()) as { s3_urls: Record<string, { presigned_url: string }> };
    const byLink = urls['attachment.a']?.presigned_url ?? '';
    const byKey = await urlOf(id, 'a');
    expect(await fetched(byLink)).toEqual(Buffer.from('shared'));
    await tenant.call('DELETE', `/runs/${id}/share`);
    expect((await fetch(byLink)).status).toBe(404);
    expect(await fetched(byKey)).toEqual(Buffer.from('shared'));
    // another link of the same trace does not revive the URLs of the former one
    await tenant.call('PUT', `/runs/${id}/share`, {});
    expect((await fetch(byLink)).status).toBe(404);
  });

  it('ends with its workspace, as the link does', async () => {
    const [id, going] = [randomUUID(), await api.workspace()];
    await send([runPart(id), [`attachment.${id}.a`, 'shared', 'text/plain']], going.key);
    const { share_token: token } = (await going.call('PUT', `/runs/${id}/share`, {})).json as {
      share_token: string;
    };
    const link = `${api.url}/public/${token}/run`;
    const byKey = await urlOf(id, 'a', going);
    expect([(await fetch(link)).status, (await fetch(byKey)).status]).toEqual([200, 200]);
    await api.client.delete(RESOURCES.Workspace, { name: `w${going.tenantId.slice(0, 8)}` });
    await waitFor(async () => (await going.call('GET', '/sessions')).status === 401);
    expect([(await fetch(link)).status, (await fetch(byKey)).status]).toEqual([404, 404]);
  });
});

(python ? describe : describe.skip)('the Python client', () => {
  it('keeps the bytes of attachments from memory and from a file', async () => {
    const { stdout } = await promisify(execFile)(python, [ATTACH, api.url, tenant.key], { timeout: 60_000 });
    expect(JSON.parse(stdout)).toEqual({ read: true, listed: true });
  });
});

describe('a download', () => {
  it('carries headers with which a browser saves it and runs nothing', async () => {
    const id = randomUUID();
    await send([runPart(id), [`attachment.${id}.é"/..\\x.html`, '<script>', 'text/html; length=8']]);
    const answer = await fetch(await urlOf(id, 'é"/..\\x.html'));
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-length': '8',
      'content-disposition': `attachment; filename="___.._x.html"; filename*=UTF-8''%C3%A9%22%2F..%5Cx.html`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
  });

  it('refuses a token that was not signed', async () => {
    const id = randomUUID();
    await send([runPart(id), [`attachment.${id}.a`, 'x', 'text/plain']]);
    const url = await urlOf(id, 'a');
    const token = url.slice(url.lastIndexOf('/') + 1);
    const changed = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`;
    for (const other of [changed, token.slice(1), `${token}A`, '%00', 'x'.repeat(3_000)])
      expect((await fetch(url.replace(token, other))).status).toBe(404);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  });

  it('takes no connection from those who write, and four places of a workspace at most', async () => {
    const [one, id] = [await api.workspace(), randomUUID()];
    await send([runPart(id), [`attachment.${id}.a`, randomBytes(20 * MIB), 'a/b']], one.key);
    const url = await urlOf(id, 'a', one);
    let asked = 0;
    fault = ({ method }) => void (asked += method === 'GET' ? 1 : 0);
    const readers = await Promise.all(Array.from({ length: 40 }, () => unread(url)));
    const refused = readers.filter(({ head }) => head.startsWith('HTTP/1.1 429'));
    expect([refused.length, asked]).toEqual([36, 4]);
    expect(refused[0]?.head.toLowerCase()).toContain('retry-after: 1');
    const late = randomUUID();
    const { status, json } = await send([runPart(late), [`attachment.${late}.a`, 'x', 'a/b']]);
    expect([status, json.not_kept]).toEqual([202, undefined]);
    expect((await fetched(await urlOf(late, 'a'))).toString()).toBe('x');
    for (const { socket } of readers) socket.destroy();
    await waitFor(async () => (await fetch(url)).status === 200);
  });

  it('gives its place back when its client goes before the object store answers', async () => {
    const id = randomUUID();
    await send([runPart(id), [`attachment.${id}.a`, 'x', 'a/b']]);
    const url = await urlOf(id, 'a');
    let asked = 0;
    fault = ({ method }) => {
      if (method === 'GET') asked++;
      return method === 'GET' ? { kind: 'delay', ms: 5_000 } : undefined;
    };
    const leave = new AbortController();
    const readers = Array.from({ length: 4 }, () => fetch(url, { signal: leave.signal }));
    await waitFor(() => asked === 4);
    expect((await fetch(url)).status).toBe(429);
    fault = undefined;
    leave.abort();
    await Promise.allSettled(readers);
    await waitFor(async () => (await fetch(url)).status === 200, { timeoutMs: 4_000 });
    expect(asked).toBe(4);
  });

  it('refuses a token whose run was deleted', async () => {
    const id = randomUUID();
    await send([runPart(id), [`attachment.${id}.a`, 'x', 'text/plain']]);
    const url = await urlOf(id, 'a');
    const session = ((await tenant.call('GET', `/runs/${id}`)).json as { session_id: string }).session_id;
    await tenant.call('POST', '/runs/delete', { session_id: session, trace_ids: [id] });
    expect((await fetch(url)).status).toBe(404);
  });
});

describe('an object', () => {
  it('holds a content once for a workspace, and apart for another', async () => {
    const [one, other] = [await api.workspace(), await api.workspace()];
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const bytes = randomBytes(2 * MIB);
    for (const [id, of] of [
      [first, one],
      [second, one],
      [third, other],
    ] as const)
      expect((await send([runPart(id), [`attachment.${id}.a`, bytes, 'a/b']], of.key)).status).toBe(202);
    expect(await filesOf(one.tenantId)).toHaveLength(1);
    expect(await filesOf(other.tenantId)).toHaveLength(1);
    const urls = [
      await urlOf(first, 'a', one),
      await urlOf(second, 'a', one),
      await urlOf(third, 'a', other),
    ];
    for (const url of urls) expect((await fetched(url)).equals(bytes)).toBe(true);
    expect((await one.call('GET', `/runs/${third}`)).status).toBe(404);
  });

  it('goes with the last run that refers to it, and not before', async () => {
    const one = await api.workspace();
    const [first, second] = [randomUUID(), randomUUID()];
    for (const id of [first, second])
      await send([runPart(id), [`attachment.${id}.a`, 'same', 'a/b']], one.key);
    const session = ((await one.call('GET', `/runs/${first}`)).json as { session_id: string }).session_id;
    const erase = (id: string) => one.call('POST', '/runs/delete', { session_id: session, trace_ids: [id] });
    await erase(first);
    await makeDue();
    await tidy();
    expect((await fetched(await urlOf(second, 'a', one))).toString()).toBe('same');
    await erase(second);
    await makeDue();
    await tidy();
    expect(await filesOf(one.tenantId)).toEqual([]);
    const { rows } = await db.query('SELECT bytes::integer FROM attachment_usage WHERE tenant_id = $1', [
      one.tenantId,
    ]);
    expect(rows).toEqual([{ bytes: 0 }]);
  });

  it('goes with its project', async () => {
    const one = await api.workspace();
    const id = randomUUID();
    await send([runPart(id), [`attachment.${id}.a`, 'x', 'a/b']], one.key);
    const session = ((await one.call('GET', `/runs/${id}`)).json as { session_id: string }).session_id;
    await one.call('DELETE', `/sessions/${session}`);
    await makeDue();
    await tidy();
    expect(await filesOf(one.tenantId)).toEqual([]);
  });

  it('goes when its upload was left in the middle, or no run came to refer to it', async () => {
    const one = await api.workspace();
    const { attachments } = api.store;
    const content = { sha256: createHash('sha256').update('x').digest(), size: 1 };
    await attachments.begin(one.tenantId, 1);
    const id = (await attachments.begin(one.tenantId, 1)) ?? '';
    await attachments.reserve(one.tenantId, id, content);
    expect(await attachments.settle(one.tenantId, id, content)).toBe(id);
    await tidy();
    expect(await attachments.findContent(one.tenantId, content)).toBe(id);
    await makeDue();
    await tidy();
    const { rows } = await db.query('SELECT FROM attachment_objects WHERE tenant_id = $1', [one.tenantId]);
    expect(rows).toEqual([]);
  });
});

describe('an attachment whose run has not arrived', () => {
  it('belongs to the run that comes later', async () => {
    const id = randomUUID();
    expect((await send([[`attachment.${id}.a`, 'early', 'a/b']])).status).toBe(202);
    await send([runPart(id)]);
    expect((await fetched(await urlOf(id, 'a'))).toString()).toBe('early');
    await tidy();
    const { rows } = await db.query('SELECT trace_id FROM attachments WHERE run_id = $1', [id]);
    expect(rows).toEqual([{ trace_id: id }]);
  });

  it('goes after a day and becomes a problem with a name', async () => {
    const one = await api.workspace();
    const id = randomUUID();
    await send([[`attachment.${id}.a`, 'x', 'a/b']], one.key);
    await db.query(`UPDATE attachments SET created_at = now() - interval '25 h' WHERE run_id = $1`, [id]);
    await makeDue();
    await tidy();
    expect(await filesOf(one.tenantId)).toEqual([]);
    const { json } = await one.call('GET', '/ingest-problems');
    expect((json as { recent: unknown[] }).recent).toMatchObject([
      { kind: 'dropped', type: 'run_never_arrived', run_id: id, member: 'a' },
    ]);
  });
});

describe('a request with attachments', () => {
  it('changes nothing when it is sent again', async () => {
    const one = await api.workspace();
    const id = randomUUID();
    const parts: Part[] = [runPart(id), [`attachment.${id}.a`, randomBytes(2 * MIB), 'a/b']];
    const rows = async () =>
      (await db.query('SELECT xmin, * FROM attachments WHERE run_id = $1', [id])).rows as unknown[];
    await send(parts, one.key);
    const before = await rows();
    expect((await send(parts, one.key)).json.not_kept).toBeUndefined();
    expect(await rows()).toEqual(before);
    await makeDue();
    await tidy();
    expect(await filesOf(one.tenantId)).toHaveLength(1);
  });

  it('replaces the attachment of one run and name', async () => {
    const one = await api.workspace();
    const id = randomUUID();
    for (const bytes of ['old', 'new'])
      await send([runPart(id), [`attachment.${id}.a`, bytes, 'a/b']], one.key);
    expect((await fetched(await urlOf(id, 'a', one))).toString()).toBe('new');
    await makeDue();
    await tidy();
    expect(await filesOf(one.tenantId)).toHaveLength(1);
  });

  it('refuses the attachments of other projects to the key of a deployment', async () => {
    const one = await api.workspace();
    const [other, early] = [randomUUID(), randomUUID()];
    await send([runPart(other)], one.key);
    await send([[`attachment.${early}.a`, 'mine', 'a/b']], one.key);
    const grant = { scope: 'deployment', deployment: 'd', project: 'own' } as const;
    const { key } = await api.store.apiKeys.mint(one.tenantId, { name: 'd', ...grant });
    const own = randomUUID();
    const { json } = await send(
      [
        runPart(own, { session_name: 'own' }),
        [`attachment.${own}.a`, 'x', 'a/b'],
        [`attachment.${other}.a`, 'x', 'a/b'],
        [`attachment.${early}.a`, 'x', 'a/b'],
      ],
      key,
    );
    expect(json.not_kept).toEqual({ attachments: 2 });
    expect((await fetched(await urlOf(own, 'a', one))).toString()).toBe('x');
    expect((await one.call('GET', `/runs/${other}`)).json).toMatchObject({ s3_urls: null });
  });

  it('refuses what is more than a run may have, than a workspace may have, or has no name', async () => {
    const one = await api.workspace();
    const id = randomUUID();
    const many = Array.from({ length: 101 }, (_, n): Part => [`attachment.${id}.n${n}`, 'x', 'a/b']);
    const bad: Part[] = [
      [`attachment.${id}.`, 'x'],
      ['attachment.none.a', 'x'],
      [`attachment.${id}.${'x'.repeat(300)}`, 'x'],
    ];
    const first = await send([runPart(id), ...many, ...bad], one.key);
    expect([first.status, first.json.not_kept]).toEqual([202, { attachments: 4 }]);
    await db.query(`UPDATE attachment_usage SET bytes = $2 WHERE tenant_id = $1`, [
      one.tenantId,
      10 * 1024 * MIB,
    ]);
    const full = randomUUID();
    const { json } = await send([runPart(full), [`attachment.${full}.a`, 'y', 'a/b']], one.key);
    expect(JSON.stringify(json.mended)).toContain('take all the bytes that they may');
    expect((await one.call('GET', `/runs/${full}`)).status).toBe(200);
  });

  it('stores the runs and names the attachments while the store is unavailable', async () => {
    const id = randomUUID();
    fault = () => ({ kind: 'error', code: 'InternalError' });
    const { status, json } = await send([
      runPart(id),
      [`attachment.${id}.large`, randomBytes(7 * MIB), 'a/b'],
      [`attachment.${id}.small`, 'x', 'a/b'],
      runPart(randomUUID()),
    ]);
    expect([status, json.not_kept]).toEqual([202, { attachments: 2 }]);
    expect(json.mended).toMatchObject([
      { loc: ['body', `attachment.${id}.large`], type: 'attachment_not_kept' },
      { loc: ['body', `attachment.${id}.small`], type: 'attachment_not_kept' },
    ]);
    expect((await tenant.call('GET', `/runs/${id}`)).json).toMatchObject({ id, s3_urls: null });
  });
});
