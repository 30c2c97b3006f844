import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'minio';
import { type ObjectStoreSettings, openObjectStore } from '#lib/object-store';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { ExportStand, STAND_KEYS } from '../../../apps/export-worker/testdata/export-stand.js';
import { foreignStores, type RunningStore, type StoreOptions } from '../../support/foreign-stores.js';
import { leaveOut } from '../../support/kubectl.js';
import { makeCertificate } from '../../support/tls-front.js';

const DAY = '2026-11-20';
const HOUR_MS = 3_600_000;
/** The address 127.0.0.1 is the bucket 127 of the domain 0.0.1: a name needs no resolver. */
const [BUCKET, DOMAIN] = ['127', '0.0.1'];
/** What is encoded in paths and signatures, and comes back in lists. */
const PREFIX = "R&D 100%/~$a=b+c,d;e:f@g!'()*?#[]-_./ä日😀";

/** Rights of keys beside writing, as documented for destinations, with what the test of a destination finds. */
const RIGHTS = [
  ['write', [], { canDelete: false, canRead: false }],
  ['write and delete', ['s3:DeleteObject'], { canDelete: true, canRead: false }],
  ['write and read', ['s3:GetObject'], { canDelete: false, canRead: true }],
  ['write, delete and read', ['s3:DeleteObject', 's3:GetObject'], { canDelete: true, canRead: true }],
] as const;

const STORES = foreignStores();
if (STORES.length === 0) it.skip('needs a foreign store', () => undefined);

for (const foreign of STORES)
  describe(`an export to ${foreign.name}`, () => {
    const postgres = testPostgres();
    const folder = temporaryFolder();
    const running: RunningStore[] = [];
    let stand: ExportStand;
    let project: string;

    beforeAll(async () => {
      stand = await ExportStand.start((await postgres.freshDatabase()).uri);
      project = await stand.ingest('foreign', [
        { run: { name: 'r', start_time: `${DAY}T12:00:00Z` }, fields: { inputs: '{}' } },
      ]);
    });
    afterEach(() => {
      jest.useRealTimers();
      for (const one of running.splice(0)) one.stop();
    });
    afterAll(() => stand.stop());

    async function start(options: Partial<StoreOptions> = {}): Promise<RunningStore> {
      const own = join(folder, randomUUID());
      mkdirSync(own);
      const store = await foreign.start({ folder: own, bucket: BUCKET, ...STAND_KEYS, ...options });
      running.push(store);
      return store;
    }

    const settingsOf = ({ endpoint }: RunningStore): ObjectStoreSettings => ({
      endpoint,
      allowPrivateEndpoints: true,
      ...STAND_KEYS,
    });

    const clientOf = ({ endpoint }: RunningStore): Client => {
      const { hostname, port } = new URL(endpoint);
      const { accessKeyId: accessKey, secretAccessKey: secretKey } = STAND_KEYS;
      return new Client({ endPoint: hostname, port: Number(port), useSSL: false, accessKey, secretKey });
    };

    async function keysIn(
      store: RunningStore,
      bucket = BUCKET,
      more: Partial<ObjectStoreSettings> = {},
    ): Promise<readonly string[]> {
      const client = openObjectStore({ ...settingsOf(store), ...more });
      const keys: string[] = [];
      for await (const { key } of client.list(bucket, '')) keys.push(key);
      client.close();
      return keys;
    }

    /** One attempt at an export of one run. */
    async function attempt(config: object, env: Readonly<Record<string, string>> = {}) {
      const spec = stand.specOf(project, DAY);
      const destination = { config: { ...spec.destination.config, bucketName: BUCKET, ...config } };
      const worker = stand.work({ ...spec, destination }, randomUUID(), 1, env);
      const code = await worker.ended;
      const problems = worker.log.filter(({ level }) => level === 'error');
      return { code, problems, log: JSON.stringify(worker.log) };
    }

    const DONE = expect.objectContaining({ code: 0, problems: [] });

    it('names the bucket in the host', async () => {
      const store = await start({ virtualDomain: DOMAIN });
      const client = openObjectStore({ ...settingsOf(store), includeBucketInPrefix: false });
      expect(await client.checkDestination(BUCKET, PREFIX)).toMatchObject({ kind: 'usable' });
      client.close();
      const config = { prefix: PREFIX, endpointUrl: store.endpoint, includeBucketInPrefix: false };
      expect(await attempt(config)).toEqual(DONE);
      const keys = await keysIn(store, BUCKET, { includeBucketInPrefix: false });
      expect(keys.filter((key) => !key.startsWith(`${PREFIX}/`))).toEqual([]);
      expect(keys.filter((key) => /\.(parquet|json)$/.test(key))).toEqual([
        expect.stringMatching(/\/export_id=.*\/part-00001\.parquet$/),
        expect.stringMatching(/\/manifests\/.*\.json$/),
      ]);
    });

    it('goes over TLS with the certificate of an authority that the worker trusts, and no other', async () => {
      const certificate = await makeCertificate('localhost');
      const store = await start({ certificate });
      const authority = join(folder, 'authority.pem');
      writeFileSync(authority, certificate.ca);
      const config = { endpointUrl: store.endpoint };
      expect(await attempt(config, { NODE_EXTRA_CA_CERTS: authority })).toEqual(DONE);
      const { code, log } = await attempt(config);
      expect(code).not.toBe(0);
      expect(log).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
      const client = openObjectStore(settingsOf(store));
      expect(await client.checkDestination(BUCKET)).toMatchObject({
        kind: 'refused',
        advice: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
      });
      client.close();
    });

    it('holds what is written in a bucket with Object Lock', async () => {
      const store = await start();
      const client = clientOf(store);
      await client.makeBucket('locked', 'us-east-1', { ObjectLocking: true });
      await client.setObjectLockConfig('locked', { mode: 'GOVERNANCE', unit: 'Days', validity: 1 });
      const opened = openObjectStore(settingsOf(store));
      expect(await opened.checkDestination('locked', 'p')).toMatchObject({ kind: 'usable', canRead: true });
      opened.close();
      expect(await attempt({ bucketName: 'locked', endpointUrl: store.endpoint })).toEqual(DONE);
      expect((await keysIn(store, 'locked')).filter((key) => key.endsWith('.parquet'))).toHaveLength(1);
    });

    it('says that the clocks differ where they do, and not that the keys are wrong', async () => {
      const store = await start();
      const client = openObjectStore(settingsOf(store));
      const now = Date.now();
      jest.useFakeTimers({
        now: now - HOUR_MS,
        doNotFake: [
          ...([
            'hrtime',
            'nextTick',
            'performance',
            'queueMicrotask',
            'setImmediate',
            'clearImmediate',
          ] as const),
          ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
        ],
      });
      expect(await client.checkDestination(BUCKET)).toMatchObject({
        kind: 'refused',
        message: 'Access denied',
        advice: expect.stringContaining('the clocks of the platform and the store differ'),
      });
      client.close();
    });

    it.each(RIGHTS)('completes by a key with the right to %s alone', async (_name, more, found) => {
      const store = await start();
      const keys = await store.restrictedKeys(BUCKET, ['s3:PutObject', ...more]);
      const client = openObjectStore({ ...settingsOf(store), ...keys });
      expect(await client.checkDestination(BUCKET, 'x')).toEqual({ kind: 'usable', ...found });
      client.close();
      const env = {
        AGENTPLANE_STORE_ACCESS_KEY_ID: keys.accessKeyId,
        AGENTPLANE_STORE_SECRET_ACCESS_KEY: keys.secretAccessKey,
        ...(keys.sessionToken === undefined ? {} : { AGENTPLANE_STORE_SESSION_TOKEN: keys.sessionToken }),
      };
      expect(await attempt({ endpointUrl: store.endpoint }, env)).toEqual(DONE);
      expect((await keysIn(store)).filter((key) => key.endsWith('.parquet'))).toHaveLength(1);
    });

    it('ends with the words of a store that has no room, and completes once it has', async () => {
      const small = join(folder, 'small');
      mkdirSync(small);
      const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=755', 'none', small]);
      if (status !== 0) return leaveOut('the test of a full store, which has no right to mount a disk');
      try {
        const store = await start({ folder: small });
        const filler = join(small, 'filler');
        expect(spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']).status).toBe(1);
        const { code, log } = await attempt({ endpointUrl: store.endpoint });
        // as of a failure that passes
        expect(code).toBe(75);
        expect(log).toMatch(/it says: .*no space left on device/i);
        rmSync(filler);
        expect(await attempt({ endpointUrl: store.endpoint })).toEqual(DONE);
        running.splice(0)[0]?.stop();
      } finally {
        spawnSync('umount', ['-l', small]);
      }
    });
  });
