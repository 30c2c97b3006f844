import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { openObjectStore } from '#lib/object-store';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { ExportStand } from '../../../apps/export-worker/testdata/export-stand.js';
import { VERSITYGW, Versitygw } from '../../support/versitygw.js';

const DAY = '2026-11-20';
const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
/** The address 127.0.0.1 is the bucket 127 of the domain 0.0.1: a name needs no resolver. */
/** What is encoded in paths and signatures, and comes back in lists. */
const PREFIX = "R&D 100%/~$a=b+c,d;e:f@g!'()*?#[]-_./ä日😀";
const [BUCKET, DOMAIN] = ['127', '0.0.1'];

if (VERSITYGW === undefined)
  process.stderr.write('AGENTPLANE_TEST_VERSITYGW names no program: buckets in hosts are left out\n');
(VERSITYGW === undefined ? describe.skip : describe)('a destination whose host names the bucket', () => {
  const postgres = testPostgres();
  const folder = temporaryFolder();

  it('takes its test object and an export, by the signatures of an independent store', async () => {
    const stand = await ExportStand.start((await postgres.freshDatabase()).uri);
    const store = await Versitygw.start({
      program: VERSITYGW ?? '',
      folder,
      bucket: BUCKET,
      virtualDomain: DOMAIN,
      ...KEYS,
    });
    const { endpoint } = store;
    const client = openObjectStore({
      endpoint,
      allowPrivateEndpoints: true,
      includeBucketInPrefix: false,
      ...KEYS,
    });
    try {
      expect(await client.checkDestination(BUCKET, PREFIX)).toMatchObject({ kind: 'usable' });
      const project = await stand.ingest('host', [
        { run: { name: 'r', start_time: `${DAY}T12:00:00Z` }, fields: { inputs: '{}' } },
      ]);
      const spec = stand.specOf(project, DAY);
      const config = {
        ...spec.destination.config,
        prefix: PREFIX,
        bucketName: BUCKET,
        endpointUrl: endpoint,
        includeBucketInPrefix: false,
      };
      const worker = stand.work({ ...spec, destination: { config } }, randomUUID(), 1);
      expect([await worker.ended, worker.log.filter(({ level }) => Number(level) > 40)]).toEqual([0, []]);
      const files = readdirSync(join(store.folder, BUCKET), { recursive: true, encoding: 'utf8' });
      expect(files.filter((name) => name.endsWith('.parquet'))).toEqual([
        expect.stringMatching(/\/export_id=.*\/part-00001\.parquet$/),
      ]);
      expect(
        files.filter((name) => /[.](parquet|json)$/.test(name) && !name.startsWith(`${PREFIX}/`)),
      ).toEqual([]);
      expect(files.filter((name) => name.endsWith('.json'))).toHaveLength(1);
    } finally {
      client.close();
      store.stop();
      await stand.stop();
    }
  });
});
