import { createHash, randomUUID } from 'node:crypto';
import { DuckDBInstance } from '@duckdb/node-api';
import { testPostgres } from '#lib/testing';
import { ExportStand, type SentRun } from '../testdata/export-stand.js';

const DAY = '2026-11-20';
const VALUE_BYTES = 59_000_000;
/** Length of a value in an export of lines. */
const LINE_VALUE_BYTES = 12_000_000;
const postgres = testPostgres();
let stand: ExportStand;

beforeAll(async () => {
  stand = await ExportStand.start((await postgres.freshDatabase()).uri);
});
afterAll(() => stand.stop());

/** Hex digits without any repetition: half of it is left after compression. */
function noise(seed: string, bytes = VALUE_BYTES): string {
  return JSON.stringify(
    createHash('shake256', { outputLength: bytes / 2 })
      .update(seed)
      .digest('hex'),
  );
}

function runAt(second: number, fields: Record<string, string> = {}): SentRun {
  return { run: { name: `run ${second}`, start_time: `${DAY}T00:00:0${second}Z` }, fields };
}

describe('an export of huge rows', () => {
  it('keeps the memory of the worker bounded', async () => {
    const huge = runAt(2, { inputs: noise('inputs'), outputs: noise('outputs') });
    const projectId = await stand.ingest('huge', [
      runAt(1, { inputs: '1' }),
      huge,
      runAt(3, { inputs: '3' }),
    ]);
    const spec = stand.specOf(projectId, DAY);
    const worker = stand.work(spec, randomUUID(), 1);
    expect(await worker.ended).toBe(0);
    const connection = await (await DuckDBInstance.create()).connect();
    try {
      const found = await connection.runAndReadAll(
        `SELECT md5(inputs) AS i, md5(outputs) AS o FROM read_parquet('${stand.folderOf(spec)}/**/*.parquet',
        hive_partitioning = false) ORDER BY start_time`,
      );
      const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
      expect(found.getRowObjectsJson()).toEqual([
        { i: md5('1'), o: null },
        { i: md5(noise('inputs')), o: md5(noise('outputs')) },
        { i: md5('3'), o: null },
      ]);
    } finally {
      connection.closeSync();
    }
    process.stderr.write(`the worker's peak was ${Math.round(worker.peakBytes / 1e6)} MB\n`);
    expect(worker.peakBytes).toBeLessThan(350e6);
  });

  it('keeps the memory of the worker bounded as it writes lines of JSON', async () => {
    const value = (seed: string): string => noise(seed, LINE_VALUE_BYTES);
    const projectId = await stand.ingest(
      'lines',
      [1, 2, 3].map((n) => runAt(n, { inputs: value(`${n} in`), outputs: value(`${n} out`) })),
    );
    const spec = stand.specOf(projectId, DAY, { format: 'jsonl' });
    const worker = stand.work(spec, randomUUID(), 1, { AGENTPLANE_EXPORT_FILE_BYTES: '1000000' });
    expect(await worker.ended).toBe(0);
    process.stderr.write(`the worker's peak was ${Math.round(worker.peakBytes / 1e6)} MB\n`);
    expect(worker.peakBytes).toBeLessThan(220e6);
  });
});
