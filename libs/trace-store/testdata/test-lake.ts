import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { type EmbeddedObjectStore, type FaultHook, startObjectStore } from '#lib/embedded-object-store';
import { type ObjectStore, openObjectStore } from '#lib/object-store';
import { createLogger } from '#lib/telemetry';
import type { LakeOptions } from '../src/sealing/lake.js';

const KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' };
const BUCKET = 'lake';
const PREFIX = 'days';

/** Members are usable inside tests and hooks. */
export interface TestLake {
  /** A lake whose days are sealed as soon as they have ended. */
  readonly options: LakeOptions;
  /** Requests to the store so far. */
  readonly asked: string[];
  /** Keys of its objects. */
  keys(): Promise<readonly string[]>;
  /** Fails requests until it is called again. */
  fail(fault: FaultHook | undefined): void;
}

/** An object store of its own for the test file that calls this. */
export function testLake(): TestLake {
  let opened: { folder: string; server: EmbeddedObjectStore; store: ObjectStore } | undefined;
  let fault: FaultHook | undefined;
  const asked: string[] = [];
  afterAll(async () => {
    opened?.store.close();
    await opened?.server.stop();
    if (opened) await rm(opened.folder, { recursive: true, force: true });
  });
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lake-'));
    const server = await startObjectStore({
      folder,
      host: '127.0.0.1',
      port: 0,
      log: createLogger('test', 'silent'),
      buckets: [BUCKET],
      ...KEYS,
      fault: (target) => {
        asked.push(`${target.method} ${target.key}`);
        return fault?.(target);
      },
    });
    const endpoint = `http://127.0.0.1:${server.port}`;
    const settings = { endpoint, region: 'us-east-1', allowPrivateEndpoints: true, attempts: 1 };
    opened = { folder, server, store: openObjectStore({ ...settings, ...KEYS }) };
  });
  const up = () => {
    if (!opened) throw new Error('the test lake is up only inside tests and hooks');
    return opened;
  };
  return {
    asked,
    get options() {
      return { store: up().store, bucket: BUCKET, prefix: PREFIX, quietHours: 0 };
    },
    async keys() {
      const keys: string[] = [];
      for await (const { key } of up().store.list(BUCKET, `${PREFIX}/`)) keys.push(key);
      return keys;
    },
    fail(hook) {
      fault = hook;
    },
  };
}
