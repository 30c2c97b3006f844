import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { BulkExportRunSpec } from '#lib/resources';
import { testPostgres, waitFor } from '#lib/testing';
import { ExportStand, type SentRun } from '../testdata/export-stand.js';

const DAY = '2026-11-20';
const LINES = { format: 'jsonl' } as const;
const postgres = testPostgres();
let stand: ExportStand;

beforeAll(async () => {
  stand = await ExportStand.start((await postgres.freshDatabase()).uri);
});
afterEach(() => {
  stand.fault = undefined;
});
afterAll(() => stand.stop());

const INFLATE: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  jsonl: (bytes) => bytes,
  gz: gunzipSync,
  zst: zstdDecompressSync,
};

/** Names and lines of the files of an export, in order. */
function filesOf(
  spec: BulkExportRunSpec,
): readonly { readonly name: string; readonly lines: readonly string[] }[] {
  const folder = stand.folderOf(spec);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /part-/.test(name),
  );
  return names.sort().map((name) => {
    const text = INFLATE[name.slice(name.lastIndexOf('.') + 1)]?.(
      readFileSync(join(folder, name)),
    ).toString();
    if (!text?.endsWith('\n')) throw new Error(`the file ${name} does not end with a line break`);
    return { name, lines: text.slice(0, -1).split('\n') };
  });
}

const linesOf = (spec: BulkExportRunSpec): readonly string[] => filesOf(spec).flatMap(({ lines }) => lines);

function runsOf(count: number): readonly SentRun[] {
  return Array.from({ length: count }, (_, n) => {
    const start_time = `${DAY}T00:00:00.${String(n).padStart(6, '0')}Z`;
    return {
      run: { name: String(n), start_time },
      fields: { inputs: JSON.stringify({ n, text: 'x'.repeat(900) }) },
    };
  });
}

describe('an export as lines of JSON', () => {
  it.each([
    ['none', '.jsonl'],
    ['gzip', '.jsonl.gz'],
    ['zstd', '.jsonl.zst'],
  ] as const)(
    'has every column and the bytes of payloads, compressed with %s',
    async (compression, suffix) => {
      const PAYLOADS = [
        '{"a":1,"a":2,"":3}',
        '1e400',
        '12345678901234567890123456789012345678901234567890',
        '{\n  "a": [\r\n1,2]\n}',
        '"\\u2028\u2028 é 😀\\n"',
      ];
      const trace_id = randomUUID();
      const projectId = await stand.ingest(randomUUID(), [
        ...PAYLOADS.map((inputs, n) => ({
          run: { name: String(n), start_time: `${DAY}T00:00:0${n}Z` },
          fields: { inputs },
        })),
        {
          run: {
            id: trace_id,
            trace_id,
            name: '"\\\n\t名 \u{1F600}',
            run_type: 'llm',
            start_time: `${DAY}T01:00:00.000001Z`,
            end_time: `${DAY}T01:00:01Z`,
            tags: ['', '"', 'ä'],
            trace_tier: 'shortlived',
          },
          fields: {
            outputs:
              '{"usage_metadata":{"input_tokens":7,"total_cost":"99999999.9999999999","input_cost":0.1}}',
            error: '"line\\nbreak"',
          },
        },
      ]);
      const spec = stand.specOf(projectId, DAY, { ...LINES, compression });
      expect(await stand.work(spec, randomUUID(), 1).ended).toBe(0);
      const [file, ...others] = filesOf(spec);
      expect(others).toEqual([]);
      expect(file?.name.endsWith(`resource=runs/year=2026/month=11/day=20/part-00001${suffix}`)).toBe(true);
      const stored = (payload: string): string => payload.replaceAll(/[\r\n]/g, ' ');
      const lines = file?.lines ?? [];
      expect(lines.slice(0, -1).map((line) => /"inputs":(.*),"outputs":null\}$/s.exec(line)?.[1])).toEqual(
        PAYLOADS.map(stored),
      );
      const row = JSON.parse(lines.at(-1) ?? '') as Record<string, unknown>;
      expect(row).toEqual({
        id: trace_id,
        tenant_id: stand.tenantId,
        session_id: projectId,
        trace_id,
        parent_run_id: null,
        parent_run_ids: [],
        reference_example_id: null,
        name: '"\\\n\t名 \u{1F600}',
        run_type: 'llm',
        start_time: `${DAY}T01:00:00.000001Z`,
        end_time: `${DAY}T01:00:01.000000Z`,
        status: 'error',
        is_root: true,
        dotted_order: expect.stringContaining(trace_id),
        trace_tier: 'shortlived',
        tags: ['', '"', 'ä'],
        total_tokens: 7,
        prompt_tokens: 7,
        completion_tokens: null,
        total_cost: '99999999.9999999999',
        prompt_cost: '0.1000000000',
        completion_cost: null,
        first_token_time: null,
        error: 'line\nbreak',
        feedback_stats: null,
        events: null,
        extra: null,
        inputs: null,
        outputs: { usage_metadata: expect.anything() },
      });
    },
  );

  it('writes chosen columns only', async () => {
    const projectId = await stand.ingest(randomUUID(), runsOf(2));
    const spec = stand.specOf(projectId, DAY, { ...LINES, exportFields: ['inputs', 'name'] });
    expect(await stand.work(spec, randomUUID(), 1).ended).toBe(0);
    expect(linesOf(spec).map((line) => Object.keys(JSON.parse(line) as object))).toEqual([
      ['name', 'inputs'],
      ['name', 'inputs'],
    ]);
  });

  it('refuses a compression that it does not have', async () => {
    const projectId = await stand.ingest(randomUUID(), runsOf(1));
    const uid = randomUUID();
    const spec = stand.specOf(projectId, DAY, { ...LINES, compression: 'snappy' });
    expect(await stand.work(spec, uid, 1).ended).toBe(64);
    expect(await stand.traces.exportProgress.find(uid)).toMatchObject({
      error: expect.stringContaining('snappy'),
    });
  });

  it('has every row once, and its checksums, when attempts are killed', async () => {
    const ROWS = 6_000;
    const projectId = await stand.ingest(randomUUID(), runsOf(ROWS));
    const spec = stand.specOf(projectId, DAY, LINES);
    const uid = randomUUID();
    const env = { AGENTPLANE_EXPORT_FILE_ROWS: '2500' };
    // the first within its second file, the second before the completion of it is recorded
    stand.fault = ({ method, key, query }) =>
      method === 'PUT' && key.includes('part-00002') && query.has('partNumber')
        ? { kind: 'delay', ms: 60_000 }
        : undefined;
    const first = stand.work(spec, uid, 1, env);
    await waitFor(async () => (await stand.traces.exportProgress.find(uid))?.part === 1);
    first.kill('SIGKILL');
    await first.ended;
    stand.fault = ({ method, key, query }) =>
      method === 'POST' && key.includes('part-00002') && query.has('uploadId')
        ? { kind: 'lost-answer' }
        : undefined;
    const second = stand.work(spec, uid, 2, env);
    await waitFor(async () => (await stand.traces.exportProgress.find(uid))?.intent?.upTo);
    second.kill('SIGKILL');
    await second.ended;
    stand.fault = undefined;
    expect(await stand.work(spec, uid, 3, env).ended).toBe(0);
    const names = linesOf(spec).map((line) => Number((JSON.parse(line) as { name: string }).name));
    expect(names).toEqual(Array.from({ length: ROWS }, (_, n) => n));
    const files = await stand.traces.exportProgress.files(uid);
    expect(files.map(({ rows }) => rows)).toEqual([2_500, 2_500, 1_000]);
    for (const { key, bytes, sha256 } of files) {
      const stored = readFileSync(join(stand.folder, stand.bucket, key));
      expect([stored.length, createHash('sha256').update(stored).digest('hex')]).toEqual([bytes, sha256]);
    }
    const manifest = Buffer.concat(
      await (
        await stand.store.get(stand.bucket, `x/manifests/export_id=${spec.exportId}/runs/${DAY}.json`)
      ).toArray(),
    );
    expect(JSON.parse(manifest.toString())).toMatchObject({
      format: 'jsonl',
      rows: ROWS,
      files: files.map(({ key, sha256 }) => ({ key, sha256 })),
    });
  });

  it('ends a file with the block that passes its size', async () => {
    const value = (seed: string): string => {
      const hash = createHash('shake256', { outputLength: 600_000 }).update(seed);
      return `{\n"hex": "${hash.digest('hex')}"}`;
    };
    const projectId = await stand.ingest(
      randomUUID(),
      ['a', 'b', 'c'].map((name, n) => ({
        run: { name, start_time: `${DAY}T00:00:0${n}Z` },
        fields: { inputs: value(name), outputs: value(`${name} out`) },
      })),
    );
    const spec = stand.specOf(projectId, DAY, LINES);
    const worker = stand.work(spec, randomUUID(), 1, { AGENTPLANE_EXPORT_FILE_BYTES: '1000000' });
    expect(await worker.ended).toBe(0);
    const files = filesOf(spec);
    expect(files.map(({ lines }) => lines.length)).toEqual([1, 1, 1]);
    for (const [n, name] of ['a', 'b', 'c'].entries()) {
      const line = files[n]?.lines[0] ?? '';
      expect(
        line.endsWith(
          `"inputs":${value(name).replace('\n', ' ')},"outputs":${value(`${name} out`).replace('\n', ' ')}}`,
        ),
      ).toBe(true);
    }
  });
});
