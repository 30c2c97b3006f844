import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BulkExportRunSpec } from '#lib/resources';
import { testPostgres } from '#lib/testing';
import { EXPORT_COLUMNS } from '#lib/trace-store';
import type { DdlEngine } from '../../apps/cli/src/export/ddl-engine.js';
import { renderDdl } from '../../apps/cli/src/export/export-ddl-command.js';
import { ExportStand, type SentRun } from '../../apps/export-worker/testdata/export-stand.js';
import { judgement } from '../../apps/export-worker/testdata/judgement.js';
import { type PageLines, pageLines } from './page-lines.js';
import { type ExportPaths, type Row, runLines } from './run-lines.js';
import { compared, storedRows } from './stored-rows.js';

const DAYS = ['2026-11-19', '2026-11-20'] as const;
const RUNS_PER_DAY = 400;
/** The first day is a file with a copied row group; those of two tiers of the second day are mixed, so its rows are read. */
const ROWS_PER_FILE = [RUNS_PER_DAY, 150] as const;
/** Engines whose tables are tried, by the language of their lines. */
const ENGINE_OF: Readonly<Record<string, DdlEngine>> = { sql: 'duckdb', clickhouse: 'clickhouse' };
const FORMATS = ['v1', 'v2_beta', 'jsonl'] as const;
type Format = (typeof FORMATS)[number];

/** Lines of JSON have one form; the version says what their folders are called. */
function filesOf(format: Format): Partial<BulkExportRunSpec> {
  return format === 'jsonl' ? { format, formatVersion: 'v2_beta' } : { formatVersion: format };
}

const JSON_TEXTS = [
  '[]',
  '{}',
  '"text"',
  'false',
  '-0.0',
  '[{"a":[1,null]},"é😀\\u2028"]',
  '{"a":1,"a":2,"":3}',
  '12345678901234567890',
];

/** Odd ones among usual ones: arrays, scalars, unicode, nothing at all, and a value of 6 MB. Those with an id get feedback. */
function runsOf(day: string): readonly SentRun[] {
  return Array.from({ length: RUNS_PER_DAY }, (_, n) => {
    const second = Math.floor((n * 86_399) / (RUNS_PER_DAY - 1));
    const at = new Date(Date.parse(`${day}T00:00:00Z`) + second * 1000).toISOString().slice(0, 19);
    const start_time = `${at}.${String((n * 7919) % 1_000_000).padStart(6, '0')}Z`;
    const json = JSON_TEXTS[n % JSON_TEXTS.length] ?? '{}';
    if (n % 5 === 0) {
      const id = randomUUID();
      return { run: { ...(n % 25 === 0 ? { id, trace_id: id } : {}), name: `run ${n}`, start_time } };
    }
    const usage = {
      input_tokens: n,
      output_tokens: 2 * n,
      total_tokens: 3 * n,
      total_cost: `${n}.${n}12345678`,
    };
    return {
      run: {
        name: n % 3 === 0 ? '名前 \u{1F600}' : `run ${n % 9}`,
        start_time,
        end_time: start_time.replace('Z', '+00:00'),
        tags: n % 4 === 0 ? ['', 'ä', '"'] : [],
        run_type: n % 2 === 0 ? 'llm' : 'chain',
        trace_tier: n % 3 === 0 && day !== DAYS[0] ? 'shortlived' : 'longlived',
        ...(n % 4 === 1 ? { reference_example_id: randomUUID() } : {}),
      },
      fields: {
        inputs: json,
        outputs: n % 2 === 0 ? JSON.stringify({ usage_metadata: usage }) : json,
        events: '[{"name":"start"}]',
        error: JSON.stringify(n % 7 === 0 ? 'Error: "\n"' : '{"a": 1}'),
        ...(n === 201 ? { inputs: JSON.stringify({ text: 'huge '.repeat(1_200_000) }) } : {}),
      },
    };
  });
}

/** Runs the lines of docs/reading-exports.md in these languages against an export of each format. */
export function describeReaders(languages: readonly string[]): void {
  const postgres = testPostgres();
  const exports = new Map<Format, ExportPaths>();
  let stand: ExportStand;
  let stored: readonly Row[];

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    stand = await ExportStand.start(uri);
    let projectId = '';
    const runs = DAYS.map(runsOf);
    for (const ofDay of runs) projectId = await stand.ingest('read', ofDay);
    const judged = runs.flat().flatMap(({ run: { id } }) => (typeof id === 'string' ? [id] : []));
    // one, or several of a key
    for (const [at, id] of judged.entries())
      for (let n = 0; n < 1 + 4 * (at % 2); n++)
        await stand.traces.feedback.create(stand.tenantId, judgement(id, at + n));
    stored = await storedRows(uri, projectId);
    expect(stored.filter((row) => row['feedback_stats'] !== null)).toHaveLength(judged.length);
    expect(await stand.seal()).toBe(stored.length);
    for (const format of FORMATS) {
      const exportId = randomUUID();
      for (const [at, day] of DAYS.entries()) {
        const spec = stand.specOf(projectId, day, { exportId, ...filesOf(format) });
        const files = { AGENTPLANE_EXPORT_FILE_ROWS: String(ROWS_PER_FILE[at]) };
        const worker = stand.work(spec, randomUUID(), 1, files);
        expect(await worker.ended).toBe(0);
        const isCopied = worker.log.some(({ copiedBytes }) => Number(copiedBytes) > 0);
        expect(isCopied).toBe(at === 0 && format !== 'jsonl');
      }
      const folder = stand.folderOf({ exportId });
      const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
      const first = names.find((name) => name.includes('day=19/part-00001.')) ?? '';
      const prefix = folder.slice(0, folder.indexOf('/export_id='));
      exports.set(format, { folder, prefix, file: join(folder, first) });
    }
  });
  afterAll(() => stand.stop());

  const engine = ENGINE_OF[languages[0] ?? ''];
  if (engine !== undefined)
    it.each(['v1', 'v2_beta'] as const)(
      'reads an export in %s by the table of `export ddl`',
      async (format) => {
        const { folder = '', file = '' } = exports.get(format) ?? {};
        const resource = format === 'v2_beta' ? 'resource=runs' : 'runs';
        const below = file.slice(0, file.indexOf(`/${resource}/`) + resource.length + 1);
        expect(below.startsWith(folder)).toBe(true);
        const ddl = renderDdl(engine, {
          name: 'runs',
          columns: EXPORT_COLUMNS,
          formatVersion: format,
          years: [2026, 2026],
          folder: below,
          url: below,
        });
        // the files of this test are in a folder
        const lines = ddl.replace(/ENGINE = S3\('(.*)', 'Parquet'\)/, "ENGINE = File(Parquet, '$1')");
        const language = languages[0] ?? '';
        const found = await runLines(
          {
            reader: engine,
            language,
            format: 'parquet',
            reads: 'folder',
            lines: `${lines}SELECT * FROM runs`,
          },
          { folder, file, prefix: '' },
        );
        const show = { isRounded: false, listsAsText: format === 'v1', isReprinted: false };
        expect(byId(found.map((row) => compared(row, show)))).toEqual(
          byId(stored.map((row) => compared(row, show))),
        );
      },
    );

  const blocks = pageLines().filter(({ language }) => languages.includes(language));

  it('finds lines for a file and a folder', () =>
    expect(blocks.length).toBeGreaterThanOrEqual(2 * languages.length));

  describe.each(FORMATS)('an export in %s', (format) => {
    const form = format === 'jsonl' ? 'jsonl' : 'parquet';
    const ofFormat = blocks.filter(
      (lines) => lines.format === form && (lines.reads !== 'prefix' || format === 'v2_beta'),
    );
    // every reader has lines for Parquet, one of them those for lines of JSON
    if (ofFormat.length === 0) return;
    it.each(ofFormat.map((lines): [string, string, PageLines] => [lines.reader, lines.reads, lines]))(
      'has the rows of the database in %s, read as a %s',
      async (_reader, _reads, lines) => {
        const paths = exports.get(format);
        if (!paths) throw new Error('the export was not made');
        const found = await runLines(lines, paths);
        const isRounded = lines.language === 'js';
        const show = { isRounded, listsAsText: format === 'v1', isReprinted: format === 'jsonl' };
        const wanted = lines.reads === 'file' ? stored.slice(0, ROWS_PER_FILE[0]) : stored;
        expect(byId(found.map((row) => compared(row, show)))).toEqual(
          byId(wanted.map((row) => compared(row, show))),
        );
        if (lines.reads !== 'file' && !isRounded) expectDays(found);
      },
    );
  });
}

/** Folders are columns: year, month and day are those of the start. */
function expectDays(rows: readonly Row[]): void {
  const days = rows.map((row) =>
    [row['year'], row['month'], row['day']].map((part) => String(part as string).padStart(2, '0')).join('-'),
  );
  const counts = DAYS.map((day) => [day, days.filter((found) => found === day).length]);
  expect(counts).toEqual(DAYS.map((day) => [day, RUNS_PER_DAY]));
}

function byId(rows: readonly Row[]): readonly Row[] {
  const keyOf = (row: Row): string => `${String(row['id'])} ${String(row['trace_id'])}`;
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
