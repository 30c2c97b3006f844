import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { ExportStand, STAND_KEYS } from '../../apps/export-worker/testdata/export-stand.js';
import { READERS_PYTHON } from './run-lines.js';

const DAY = '2026-11-20';
const RUNS_PER_HOUR = 40;
const HOURS = 3;
const hasReaders =
  spawnSync(READERS_PYTHON, ['-c', 'import duckdb, pyiceberg, duckdb_extension_iceberg, pyarrow']).status ===
  0;

/** `install-python.sh FOLDER requirements-long.txt` installs the readers. */
(hasReaders ? describe : describe.skip)('the table over the windows of a schedule', () => {
  const postgres = testPostgres();
  let stand: ExportStand;

  beforeAll(async () => {
    stand = await ExportStand.start((await postgres.freshDatabase()).uri);
  });
  afterAll(() => stand.stop());

  it.each(['v1', 'v2_beta'] as const)(
    'answers DuckDB and PyIceberg alike, with files of %s',
    async (formatVersion) => {
      const runs = Array.from({ length: RUNS_PER_HOUR * HOURS }, (_, n) => {
        const minute = String(n % RUNS_PER_HOUR).padStart(2, '0');
        const start = `${DAY}T0${Math.floor(n / RUNS_PER_HOUR)}:${minute}:00Z`;
        return {
          run: {
            run_type: 'llm',
            name: 'é',
            start_time: start,
            end_time: start,
            tags: n % 2 === 0 ? ['a', 'b'] : [],
            prompt_tokens: n,
            completion_tokens: 1,
            total_cost: 0.001,
          },
          fields: { inputs: String(n) },
        };
      });
      const projectId = await stand.ingest(`tables of ${formatVersion}`, runs);
      const scheduleId = randomUUID();
      for (let hour = 0; hour < HOURS; hour++) {
        const startTime = `${DAY}T0${hour}:00:00Z`;
        const endTime = `${DAY}T0${hour}:59:59.999999Z`;
        const spec = {
          ...stand.specOf(projectId, DAY, { formatVersion, table: 'iceberg' }),
          startTime,
          endTime,
          exportWindow: { startTime, endTime, scheduleId },
        };
        expect(await stand.work(spec, randomUUID(), 1, { AGENTPLANE_EXPORT_UID: randomUUID() }).ended).toBe(
          0,
        );
      }
      const { stdout } = await promisify(execFile)(READERS_PYTHON, [
        join(import.meta.dirname, 'iceberg_tables.py'),
        stand.endpoint,
        STAND_KEYS.accessKeyId,
        STAND_KEYS.secretAccessKey,
        `s3://${stand.bucket}/x/tables/schedule=${scheduleId}/runs`,
      ]);
      const count = runs.length;
      const answers = {
        rows: count,
        hour: RUNS_PER_HOUR,
        tokens: (count * (count - 1)) / 2 + count,
        tags: count / 2,
        inputs: runs.map(({ fields }) => fields.inputs).join(','),
        cost: (count / 1000).toFixed(10),
      };
      expect(
        stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as object),
      ).toEqual([
        { reader: 'duckdb', ...answers },
        { reader: 'pyiceberg', ...answers },
      ]);
    },
  );
});
