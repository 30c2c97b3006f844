import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { agentplane } from '../cli/agentplane.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { fillPhoenix } from './phoenix-contents.js';
import { type PythonServer, startPythonServer } from './python-server.js';
import { proxyOf } from './source-proxy.js';
import { contentsOf, fillWorkspace } from './source-workspace.js';

const RUNS = 10_000;

type Row = Readonly<Record<'kind' | 'name' | 'read' | 'written' | 'refused' | 'there', unknown>>;

interface Stats {
  readonly run_count: number;
  readonly total_tokens: number;
}

/** Each source is read through a proxy that kills the import once, half-way. */
describe('an import of ten thousand runs', () => {
  let target: Platform;
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-import-'));

  beforeAll(async () => {
    target = await startPlatform(newDataFolder());
  });
  afterAll(async () => {
    await target?.stop();
    removeDataFolder(target?.dataFolder);
    rmSync(folder, { recursive: true, force: true });
  });

  /** @param killedAt the request of a page of runs at which the first start is killed */
  async function importTwice(
    product: string,
    from: string,
    page: RegExp,
    killedAt: number,
    key = '',
  ): Promise<readonly Row[]> {
    let count = 0;
    let kill = (): unknown => undefined;
    const proxy = await proxyOf(from, (path) => {
      if (page.test(path) && ++count === killedAt) kill();
      return undefined;
    });
    const words = ['import', product, '--from', proxy.url, '--data', target.dataFolder, '-o', 'json'];
    const env = { XDG_CONFIG_HOME: folder, LANGSMITH_API_KEY: key };
    const child = spawn(process.execPath, [join(repository, 'bin', 'agentplane.js'), ...words], {
      env: { ...process.env, ...env },
      stdio: 'ignore',
      detached: true,
    });
    kill = () => process.kill(-(child.pid ?? 0), 'SIGKILL');
    await once(child, 'exit');
    kill = () => undefined;
    expect(count).toBe(killedAt);
    const ending = await agentplane(words, { environment: env, timeoutMs: 600_000 });
    proxy.close();
    expect([ending.code, ending.complaint]).toEqual([0, expect.stringContaining('Continues an import')]);
    // the second start asked for no page that the first one had written
    expect(count).toBeLessThan(2 * killedAt + 5);
    return JSON.parse(ending.output) as readonly Row[];
  }

  const moved = (count: number): object => ({ read: count, written: count, refused: 0, there: count });

  describe('from another platform', () => {
    let source: Platform;
    beforeAll(async () => {
      source = await startPlatform(newDataFolder());
    });
    afterAll(async () => {
      await source?.stop();
      removeDataFolder(source?.dataFolder);
    });

    it('brings equal counts, tokens and trees', async () => {
      const { apiKey, restUrl } = source.credentials;
      await fillWorkspace(new Rest(source.credentials), Math.ceil(RUNS / 3));
      const rows = await importTwice('langsmith', restUrl, /^POST \/runs\/query$/, 52, apiKey);
      expect(rows.find(({ kind, name }) => kind === 'runs' && name === 'support')).toMatchObject(
        moved(RUNS + 2),
      );
      expect(await contentsOf(new Rest(target.credentials))).toEqual(
        await contentsOf(new Rest(source.credentials)),
      );
    });
  });

  describe('from Phoenix', () => {
    let source: PythonServer;
    const data = mkdtempSync(join(tmpdir(), 'agentplane-phoenix-'));
    beforeAll(async () => {
      source = await startPythonServer({
        name: 'phoenix',
        words: (bin) => [join(bin, 'phoenix'), 'serve'],
        cwd: data,
        environment: (port) => ({
          PHOENIX_WORKING_DIR: data,
          PHOENIX_HOST: '127.0.0.1',
          PHOENIX_PORT: String(port),
          PHOENIX_GRPC_PORT: String(port + 1),
          PHOENIX_TELEMETRY_ENABLED: 'false',
        }),
        ready: '/healthz',
      });
    });
    afterAll(() => {
      source?.stop();
      rmSync(data, { recursive: true, force: true });
    });

    it('brings equal counts, tokens and trees', async () => {
      const traces = RUNS / 10;
      const { tokens } = await fillPhoenix(source.url, traces);
      const rows = await importTwice('phoenix', source.url, /\/spans\/otlpv1$/, 52);
      const of = (kind: string): Row | undefined => rows.find((row) => row.kind === kind && row.read !== 0);
      expect(of('runs')).toMatchObject(moved(RUNS));
      expect(of('feedback')).toMatchObject(moved(traces * 1.5));
      expect(of('examples')).toMatchObject(moved(250));
      const rest = new Rest(target.credentials);
      const { body: found } =
        await rest.get<readonly { id: string; name: string; extra: object }[]>('/sessions');
      const isMoved = (one: { name: string; extra: object }): boolean =>
        one.name.startsWith('support') && JSON.stringify(one.extra).includes('phoenix_id');
      const session = [found.find(isMoved)?.id];
      const { body: all } = await rest.post<Stats>('/runs/stats', { session, is_root: true });
      expect(all).toMatchObject({ run_count: traces, total_tokens: tokens });
      const { body: deepest } = await rest.post<{
        runs: { parent_run_ids: unknown[]; start_time: string }[];
      }>('/runs/query', {
        session,
        filter: 'eq(name, "step 9")',
        order: 'asc',
        limit: 1,
        select: ['parent_run_ids', 'start_time'],
      });
      expect(deepest.runs[0]?.parent_run_ids).toHaveLength(9);
      expect(deepest.runs[0]?.start_time).toBe('2026-06-01T00:00:00.009123Z');
    });
  });
});
