import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startObjectStore, type EmbeddedObjectStore } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { READERS_PYTHON } from './run-lines.js';

const KEYS = { accessKeyId: 'walker', secretAccessKey: 'secret/with+signs' };
const hasClients =
  spawnSync(READERS_PYTHON, ['-c', 'import boto3, s3fs, pyarrow, awscli, awscrt']).status === 0;
const hasRclone = spawnSync('rclone', ['version']).status === 0;

/** `install-python.sh FOLDER requirements-long.txt` installs the clients; rclone is tried where it is installed. */
(hasClients ? describe : describe.skip)('the embedded object store, by the clients that people bring', () => {
  let folder: string;
  let store: EmbeddedObjectStore;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 's3-clients-'));
    store = await startObjectStore({
      folder: join(folder, 'store'),
      host: '127.0.0.1',
      port: 0,
      log: createLogger('test', 'silent'),
      buckets: ['walked'],
      ...KEYS,
    });
  });

  afterAll(async () => {
    await store.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('serves uploads, copies, attributes and checksums', async () => {
    const { stdout } = await promisify(execFile)(READERS_PYTHON, [
      join(import.meta.dirname, 's3_clients.py'),
      store.endpoint,
      KEYS.accessKeyId,
      KEYS.secretAccessKey,
      'walked',
      folder,
    ]);
    expect(stdout.trim().split('\n')).toEqual([
      'boto3',
      'pyarrow',
      's3fs',
      'aws',
      ...(hasRclone ? ['rclone'] : []),
    ]);
  });
});
