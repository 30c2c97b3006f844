import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { agentplane, type Ending } from './agentplane.js';

const PROJECT = 'asked in sql';
const TRACE = randomUUID();

describe('agentplane sql', () => {
  const platform = sharedPlatform();
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-sql-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (words: readonly string[], input?: string): Promise<Ending> =>
    agentplane([...words, '--data', platform.dataFolder], {
      environment: { XDG_CACHE_HOME: folder },
      ...(input === undefined ? {} : { input }),
    });

  /** Output of a statement that must be answered. */
  async function answer(words: readonly string[], input?: string): Promise<string> {
    const { code, output, complaint } = await run(['sql', ...words], input);
    if (code !== 0) throw new Error(`sql ended with ${code}: ${complaint}`);
    return output;
  }

  async function exported(name: string): Promise<void> {
    const window = ['--from', '2026-11-20', '--to', '2026-11-21', '--format', 'v2_beta'];
    const made = await run(['export', 'create', name, '--project', PROJECT, ...window, '--wait']);
    expect([made.code, made.complaint]).toEqual([0, expect.anything()]);
  }

  it('says what is missing before there is an export', async () => {
    const { code, complaint } = await run(['sql', '-c', 'SELECT 1']);
    expect([code, complaint]).toEqual([3, expect.stringMatching(/no export as Parquet is complete/)]);
  });

  describe('with two exports of a day', () => {
    beforeAll(async () => {
      const rest = new Rest(platform.credentials);
      const times = { start_time: '2026-11-20T01:00:00Z', end_time: '2026-11-20T01:00:02Z' };
      const root = {
        id: TRACE,
        name: 'root',
        run_type: 'chain',
        session_name: PROJECT,
        inputs: {},
        ...times,
      };
      expect((await rest.post('/runs', root)).status).toBe(202);
      await exported('first');
      const usage_metadata = {
        input_tokens: 200,
        output_tokens: 100,
        total_tokens: 300,
        total_cost: 0.000072,
      };
      const answered = { run_type: 'llm', outputs: { usage_metadata } };
      const child = { ...root, ...answered, id: randomUUID(), name: 'call', parent_run_id: TRACE };
      expect((await rest.post('/runs', { ...child, trace_id: TRACE })).status).toBe(202);
      await exported('second');
    });

    it('answers each run once, and traces by their roots', async () => {
      expect(await answer(['-c', 'SELECT name FROM runs ORDER BY name'])).toBe('name\ncall\nroot\n');
      const traces = await answer(['-c', 'SELECT count(*)::INT AS n FROM traces', '-o', 'json']);
      expect(JSON.parse(traces)).toEqual([{ n: 1 }]);
    });

    it('has the tokens and the cost of a trace in the row of its root', async () => {
      const totals = 'SELECT total_tokens::INT AS tokens, total_cost::VARCHAR AS cost FROM traces';
      expect(JSON.parse(await answer(['-c', totals, '-o', 'json']))).toEqual([
        { tokens: 300, cost: '0.0000720000' },
      ]);
    });

    it('asks one export by its name, from standard input', async () => {
      const named = await answer(['first', '-o', 'json'], 'SELECT name, id FROM runs;');
      expect(JSON.parse(named)).toEqual([{ name: 'root', id: TRACE }]);
    });

    it('writes rows to a file', async () => {
      const file = join(folder, 'rows.csv');
      await answer(['-c', 'SELECT name FROM traces', '--to', file]);
      expect(readFileSync(file, 'utf8')).toBe('name\nroot\n');
      const wrong = await run(['sql', '-c', 'SELECT 1', '--to', 'rows.xls']);
      expect([wrong.code, wrong.complaint]).toEqual([2, expect.stringMatching(/\.parquet, \.csv or \.json/)]);
    });

    it('reports a statement that is none', async () => {
      const { code, complaint } = await run(['sql', '-c', 'SELEKT 1']);
      expect([code, complaint]).toEqual([1, expect.stringMatching(/Parser Error/)]);
    });
  });

  it('asks a project by an export of its own', async () => {
    const rest = new Rest(platform.credentials);
    const start_time = new Date(Date.now() - 60_000).toISOString();
    const sent = {
      id: randomUUID(),
      name: 'recent',
      run_type: 'chain',
      session_name: 'of today',
      inputs: {},
    };
    expect((await rest.post('/runs', { ...sent, start_time })).status).toBe(202);
    const words = ['--project', 'of today', '--last', '2h'];
    expect(await answer([...words, '-c', 'SELECT name FROM traces'])).toBe('name\nrecent\n');
    const { code, complaint } = await run(['sql', 'one', ...words, '-c', 'SELECT 1']);
    expect([code, complaint]).toEqual([2, expect.stringMatching(/takes an EXPORT, or --project/)]);
  });
});
