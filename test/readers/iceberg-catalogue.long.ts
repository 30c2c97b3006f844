import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { agentplane } from '../cli/agentplane.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

/** A Python with the packages of `install-python.sh FOLDER requirements-catalogue.txt`. */
const PYTHON = process.env.AGENTPLANE_CATALOGUE_PYTHON ?? 'python3';
const PROJECT = 'traces of shops';
const hasReaders =
  spawnSync(PYTHON, ['-c', 'import duckdb, pyiceberg, duckdb_extension_iceberg, s3fs']).status === 0;

(hasReaders ? describe : describe.skip)('the catalogue of tables', () => {
  const platform = sharedPlatform();

  beforeAll(async () => {
    const rest = new Rest(platform.credentials);
    for (let hour = 0; hour < 24; hour++) {
      const start = `2026-11-20T${String(hour).padStart(2, '0')}:30:00Z`;
      const run = {
        id: randomUUID(),
        name: `r${hour % 2}`,
        run_type: 'llm',
        session_name: PROJECT,
        inputs: {},
      };
      const usage = { input_tokens: hour, output_tokens: 1, total_tokens: hour + 1 };
      const outputs = { usage_metadata: usage };
      const sent = await rest.post('/runs', { ...run, start_time: start, end_time: start, outputs });
      expect(sent.status).toBe(202);
    }
    const window = ['--from', '2026-11-20', '--to', '2026-11-21'];
    const words = ['lake', '--project', PROJECT, ...window, '--table', 'iceberg', '--wait'];
    const made = await agentplane(['export', 'create', ...words, '--data', platform.dataFolder]);
    expect([made.code, made.complaint]).toEqual([0, expect.anything()]);
  });

  it('answers DuckDB and PyIceberg alike', async () => {
    const { restUrl, apiKey, objectStore } = platform.credentials;
    const { endpoint, accessKeyId, secretAccessKey } = objectStore;
    const { stdout } = await promisify(execFile)(PYTHON, [
      join(import.meta.dirname, 'iceberg_catalogue.py'),
      ...[restUrl, apiKey, endpoint, accessKeyId, secretAccessKey, PROJECT, 'lake'],
    ]);
    const answers = { rows: 24, tokens: 300, names: 'r0,r1' };
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual(
      ['duckdb', 'pyiceberg with a token', 'pyiceberg with a secret'].map((reader) => ({
        reader,
        ...answers,
      })),
    );
  });
});
