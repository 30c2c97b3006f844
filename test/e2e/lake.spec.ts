import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type Run } from 'langsmith';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';

const DAY_MS = 86_400_000;
const PROJECT = 'sealed';

interface LakeStatus {
  readonly enabled: boolean;
  readonly reason: string | null;
  readonly days: readonly {
    readonly day: string;
    readonly postgres_rows: number;
    readonly sealed_rows: number;
    readonly sealed_bytes: number;
    readonly error: string | null;
  }[];
}

describe('the lake of one machine', () => {
  const dataFolder = newDataFolder();
  const place = newDataFolder();
  let platform: Platform;
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  const start = new Date(Date.now() - 7 * DAY_MS);

  const client = (): Client => {
    const { restUrl: apiUrl, apiKey } = platform.credentials;
    return new Client({ apiUrl, apiKey, autoBatchTracing: false });
  };
  const readAll = (): Promise<readonly Run[]> => Promise.all(ids.map((id) => client().readRun(id)));
  const status = async (): Promise<LakeStatus> => {
    const words = [
      'bin/agentplane.js',
      'lake',
      'status',
      '--data',
      dataFolder,
      '--project',
      PROJECT,
      '-o',
      'json',
    ];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: repository });
    return JSON.parse(stdout) as LakeStatus;
  };
  const objects = (): readonly string[] => {
    const folder = join(dataFolder, 'objects', 'agentplane-attachments', 'lake');
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.parquet'),
    );
  };

  beforeAll(async () => {
    // as root the server of the databases is another user, who must be able to go there
    chmodSync(place, 0o755);
    platform = await startPlatform(dataFolder, { environment: { AGENTPLANE_LAKE: 'off' } });
    for (const [n, id] of ids.entries())
      await client().createRun({
        id,
        trace_id: id,
        dotted_order: `${start.toISOString().replace(/[-:.]/g, '').slice(0, -1)}000Z${id}`,
        name: `run ${n}`,
        run_type: 'chain',
        project_name: PROJECT,
        start_time: start.getTime(),
        end_time: start.getTime() + 1_000,
        inputs: { question: `é${n}`, long: 'x'.repeat(100_000) },
        outputs: { answer: n },
        extra: { metadata: { n } },
      });
  });
  afterAll(async () => {
    await platform.stop();
    removeDataFolder(dataFolder);
    removeDataFolder(place);
  });

  it('seals days of before unless it is off, and answers their runs as before', async () => {
    expect(await status()).toEqual({
      enabled: false,
      reason: 'AGENTPLANE_LAKE is off',
      days: [],
      tables: [],
    });
    const before = await readAll();
    expect(before.map(({ outputs }) => outputs)).toEqual(ids.map((_, answer) => ({ answer })));
    await platform.stop();

    platform = await startPlatform(dataFolder, { environment: { AGENTPLANE_LAKE_QUIET_HOURS: '0' } });
    const day = await waitFor(
      async () => (await status()).days.find(({ sealed_rows: rows }) => rows === ids.length),
      { what: 'the day to be sealed' },
    );
    expect(day).toMatchObject({ day: start.toISOString().slice(0, 10), postgres_rows: 0, error: null });
    expect(day.sealed_bytes).toBeGreaterThan(0);
    expect(objects()).toHaveLength(1);
    expect(await readAll()).toEqual(before);
  });

  it('comes back from a backup', async () => {
    const before = await readAll();
    const words = ['--data', dataFolder];
    expect(await agentplane(['backup', ...words, '--to', join(place, 'backup')])).toMatchObject({ code: 0 });
    await platform.stop();
    const restored = join(place, 'restored');
    const ending = await agentplane(['restore', join(place, 'backup'), '--data', restored]);
    expect(ending).toMatchObject({ code: 0 });
    platform = await startPlatform(restored);
    expect(await readAll()).toEqual(before);
  });
});
