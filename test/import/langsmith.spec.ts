import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { agentplane, type Ending } from '../cli/agentplane.js';
import { repository } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { proxyOf, type SourceProxy } from './source-proxy.js';
import { contentsOf, type Filled, fillWorkspace } from './source-workspace.js';

interface Row {
  readonly kind: string;
  readonly name: string;
  readonly read: number;
  readonly written: number;
  readonly refused: number;
  readonly there: number | null;
}

/** A source with the interface of LangSmith: another workspace of ours. */
describe('agentplane import langsmith', () => {
  const source = sharedPlatform();
  const target = sharedPlatform();
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-import-'));
  let filled: Filled;
  let proxy: SourceProxy;
  let refuse: Parameters<typeof proxyOf>[1] = () => undefined;

  beforeAll(async () => {
    proxy = await proxyOf(source.credentials.restUrl, (...asked) => refuse(...asked));
    filled = await fillWorkspace(new Rest(source.credentials), 200);
  });
  afterAll(() => {
    proxy?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const environment = (): Record<string, string> => ({
    XDG_CONFIG_HOME: folder,
    SOURCE_KEY: source.credentials.apiKey,
  });
  const words = (...more: string[]): string[] => [
    ...['import', 'langsmith', '--from', proxy.url, '--api-key-env', 'SOURCE_KEY'],
    ...['--data', target.dataFolder, ...more],
  ];

  async function run(...more: string[]): Promise<{ readonly rows: readonly Row[]; readonly ending: Ending }> {
    const ending = await agentplane(words('-o', 'json', ...more), { environment: environment() });
    expect(ending.complaint).not.toContain(source.credentials.apiKey);
    expect(ending).toMatchObject({ code: 0 });
    return { rows: JSON.parse(ending.output) as readonly Row[], ending };
  }

  const sumOf = (rows: readonly Row[], kind: string, member: 'read' | 'written' | 'there'): number =>
    rows.filter((row) => row.kind === kind).reduce((sum, row) => sum + (row[member] ?? 0), 0);

  it('counts and writes nothing in a dry run', async () => {
    const { rows } = await run('--dry-run');
    expect(sumOf(rows, 'runs', 'read')).toBe(filled.runs);
    expect(sumOf(rows, 'feedback', 'read')).toBe(filled.feedback);
    expect(sumOf(rows, 'examples', 'read')).toBe(filled.examples);
    expect(rows.every(({ written, there }) => written === 0 && there === null)).toBe(true);
    expect((await new Rest(target.credentials).get('/sessions')).body).toEqual([]);
  });

  it('continues after it was killed, and doubles nothing', async () => {
    const child = spawn(process.execPath, [join(repository, 'bin', 'agentplane.js'), ...words()], {
      cwd: repository,
      env: { ...process.env, ...environment() },
      stdio: 'ignore',
      detached: true,
    });
    const ended = once(child, 'exit');
    let count = 0;
    refuse = (path) => {
      if (path !== 'POST /runs/query') return undefined;
      count++;
      // the first page is written by then; the second one is answered late
      if (count === 3) process.kill(-(child.pid ?? 0), 'SIGKILL');
      return count === 2 ? 429 : undefined;
    };
    await ended;
    refuse = () => undefined;
    expect(count).toBe(3);
    const { rows, ending } = await run();
    expect(ending.complaint).toContain('Continues an import that was interrupted.');
    for (const [kind, count] of Object.entries(filled))
      expect([
        kind,
        sumOf(rows, kind, 'read'),
        sumOf(rows, kind, 'written'),
        sumOf(rows, kind, 'there'),
      ]).toEqual([kind, ...[count, count, count]]);
    expect(await contentsOf(new Rest(target.credentials))).toEqual(
      await contentsOf(new Rest(source.credentials)),
    );
  });

  it('keeps integers of 64 bits', async () => {
    const { restUrl, apiKey } = target.credentials;
    const answer = await fetch(`${restUrl}/api/v1/runs/query`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: '{"is_root": true, "limit": 1}',
    });
    expect(await answer.text()).toContain('"exact":9007199254740993');
  });

  it('changes nothing when it runs again, with a key of its own', async () => {
    const before = await contentsOf(new Rest(target.credentials));
    const { rows } = await run('--workspace', target.workspace);
    expect(sumOf(rows, 'runs', 'there')).toBe(filled.runs);
    expect(await contentsOf(new Rest(target.credentials))).toEqual(before);
  });

  it('brings the files of runs', async () => {
    const from = new Rest(source.credentials);
    const [id, bytes] = [randomUUID(), randomBytes(70_000)];
    const form = new FormData();
    const scan = { id, trace_id: id, name: 'scan', run_type: 'chain', session_name: 'files', inputs: {} };
    const stamp = '20260601T000000000000Z';
    const post = { ...scan, dotted_order: `${stamp}${id}`, start_time: '2026-06-01T00:00:00Z' };
    form.append(`post.${id}`, new Blob([JSON.stringify(post)], { type: 'application/json' }));
    form.append(`attachment.${id}.page 1`, new Blob([bytes], { type: 'image/png' }));
    expect(await from.post('/runs/multipart', form)).toMatchObject({ status: 202 });
    for (let times = 0; times < 2; times++) {
      const { rows } = await run('--project', 'files');
      expect(sumOf(rows, 'attachments', 'written')).toBe(1);
    }
    const { body } = await new Rest(target.credentials).get<{
      s3_urls: Record<string, { presigned_url: string; mime_type: string }>;
    }>(`/runs/${id}`);
    const file = body.s3_urls['attachment.page 1'];
    expect(file?.mime_type).toBe('image/png');
    const answer = await fetch(new URL(file?.presigned_url ?? '', target.credentials.restUrl));
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('creates deployments when asked to, once', async () => {
    const from = new Rest(source.credentials);
    const made = await from.post('/v2/deployments', {
      name: 'greeter',
      source: 'external_image',
      source_config: {},
      source_revision_config: { image_uri: 'local/absent' },
      secrets: [{ name: 'GREETING', value: 'hush' }],
    });
    expect(made).toMatchObject({ status: 201 });
    const first = await run('--project', 'none', '--deployments');
    expect(first.ending.complaint).toContain('deployment greeter needs values of GREETING');
    expect(sumOf(first.rows, 'deployments', 'written')).toBe(1);
    const again = await run('--project', 'none', '--deployments');
    expect(again.ending.complaint).not.toContain('GREETING');
    const { body } = await new Rest(target.credentials).get<{ resources: { name: string }[] }>(
      '/v2/deployments',
    );
    expect(body.resources.map(({ name }) => name)).toEqual(['greeter']);
  });
});
