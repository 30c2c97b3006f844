import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { pythonWith } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import { indented } from '../page/run-item.js';

const SHARE = join(import.meta.dirname, '..', 'testdata', 'share.py');
/** A Python with `langsmith`. */
const python = pythonWith('langsmith');
const HOSTILE = `</pre><script>alert(1)</script>"'&`;

const { api, tenant } = testApi();
const [root, child, other] = [randomUUID(), randomUUID(), randomUUID()];
const at = '20260101T000000000000Z';
let client: Client;

const runOf = (id: string, more: object = {}) => ({
  id,
  trace_id: id,
  dotted_order: `${at}${id}`,
  name: HOSTILE,
  run_type: 'chain',
  start_time: '2026-01-01T00:00:00Z',
  session_name: 'p',
  inputs: { text: HOSTILE, n: 1.0 },
  ...more,
});

/** Sends a request without a key. */
async function open(path: string, body?: object) {
  const headers = { 'content-type': 'application/json' };
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {};
  const answer = await fetch(api.url + path, init);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text };
}

beforeAll(async () => {
  client = new Client({ apiUrl: api.url, apiKey: tenant.key, webUrl: api.url, autoBatchTracing: false });
  const below = {
    trace_id: root,
    parent_run_id: root,
    dotted_order: `${at}${root}.${at}${child}`,
    error: HOSTILE,
    outputs: { text: 'x'.repeat(30_000) },
  };
  const post = [runOf(root), runOf(child, below), runOf(other)];
  await tenant.call('POST', '/runs/batch', { post, patch: [] });
});

const tokenOf = async (id: string) =>
  ((await tenant.call('GET', `/runs/${id}/share`)).json as { share_token?: string }).share_token;

describe('a link of the JavaScript client', () => {
  it('opens the trace of its run until it is ended, and no other', async () => {
    expect(await client.readRunSharedLink(child)).toBeUndefined();
    const url = await client.shareRun(child);
    expect(await client.shareRun(root)).toBe(url);
    expect(await client.readRunSharedLink(root)).toBe(url);
    const base = new URL(url).pathname.replace(/\/r$/, '');
    expect(JSON.parse((await open(`${base}/run`)).text)).toMatchObject({
      id: root,
      inputs: { text: HOSTILE },
    });
    expect(JSON.parse((await open(`${base}/run/${child}`)).text)).toMatchObject({ id: child });
    const listed = JSON.parse((await open(`${base}/runs/query`, { limit: 1 })).text) as {
      runs: { id: string }[];
      cursors: { next: string };
    };
    const rest = await open(`${base}/runs/query`, { cursor: listed.cursors.next });
    const ids = [...listed.runs, ...(JSON.parse(rest.text) as typeof listed).runs].map(({ id }) => id);
    expect(ids.sort()).toEqual([root, child].sort());
    expect((await open(`${base}/run/${other}`)).status).toBe(404);
    expect(await open(`${base}/runs/query`, { id: [other] })).toMatchObject({
      text: expect.stringContaining('"runs":[]'),
    });
    await client.unshareRun(root);
    for (const path of ['run', `run/${child}`, 'r']) expect((await open(`${base}/${path}`)).status).toBe(404);
    expect(await client.readRunSharedLink(child)).toBeUndefined();
  });

  it('has a token that its caller cannot choose', async () => {
    const chosen = randomUUID();
    const { json } = await tenant.call('PUT', `/runs/${root}/share`, { run_id: root, share_token: chosen });
    expect((json as { share_token: string }).share_token).not.toBe(chosen);
    expect((await open(`/public/${chosen}/run`)).status).toBe(404);
  });

  it('ends with the runs of its trace', async () => {
    const id = randomUUID();
    await tenant.call('POST', '/runs', runOf(id));
    const url = await client.shareRun(id);
    const session = ((await tenant.call('GET', `/runs/${id}`)).json as { session_id: string }).session_id;
    await tenant.call('POST', '/runs/delete', { session_id: session, trace_ids: [id] });
    expect((await open(new URL(url).pathname)).status).toBe(404);
  });

  it('stays out of the reach of other workspaces', async () => {
    await client.shareRun(root);
    const token = await tokenOf(root);
    const stranger = await api.workspace();
    expect((await stranger.call('PUT', `/runs/${root}/share`, {})).status).toBe(404);
    for (const method of ['GET', 'DELETE'])
      expect((await stranger.call(method, `/runs/${root}/share`)).status).toBe(404);
    expect(await tokenOf(root)).toBe(token);
  });
});

(python ? describe : describe.skip)('a link of the Python client', () => {
  it('opens the trace of its run', async () => {
    const { stdout } = await promisify(execFile)(python, [SHARE, api.url, tenant.key, root, child], {
      timeout: 60_000,
    });
    expect(JSON.parse(stdout)).toEqual({ shared: true, root, listed: [root, child].sort(), ended: true });
  });
});

describe('the page of a shared trace', () => {
  it('shows runs with every value escaped, and lets nothing run', async () => {
    const { pathname } = new URL(await client.shareRun(root));
    const { status, headers, text } = await open(pathname);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; base-uri 'none'; /,
    );
    // its own, which the policy names
    expect([text.match(/<script/g)?.length, text.includes('"http')]).toEqual([1, false]);
    expect(text.match(/<details class="run/g)).toHaveLength(2);
    for (const part of ['&lt;script&gt;alert(1)', 'the first 20000 of 30011 bytes'])
      expect(text.includes(part)).toBe(true);
  });

  it.each([
    [
      '{"a":1.0,"b":["x","y\\"z"],"c":{}}',
      '{\n  "a": 1.0,\n  "b": [\n    "x",\n    "y\\"z"\n  ],\n  "c": {\n  \n  }\n}',
    ],
    ['{"a":"cut', '{\n  "a": "cut'],
    ['['.repeat(9_000), '['.repeat(9_000)],
  ])('indents JSON without changing a value, row %#', (json, shown) => {
    expect(indented(json).replaceAll(/\s/g, '')).toBe(shown.replaceAll(/\s/g, ''));
    expect(indented(json).length).toBeLessThan(5 * json.length + 200);
  });
});

describe('guesses of links', () => {
  it('refuses further ones after some a minute, while links that exist open', async () => {
    await tenant.call('PUT', `/runs/${root}/share`, {});
    const token = await tokenOf(root);
    const guess = async (): Promise<number> => (await open(`/public/${randomUUID()}/run`)).status;
    const statuses = await Promise.all(Array.from({ length: 130 }, guess));
    expect(new Set(statuses)).toEqual(new Set([404, 429]));
    expect(statuses.filter((status) => status === 404).length).toBeLessThanOrEqual(105);
    expect((await open(`/public/${token}/run`)).status).toBe(200);
  });
});
