import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import type { Client } from 'minio';
import { storeClient } from '../support/export-reader.js';
import type { FindArena } from './arena.js';

const KEY = 'attack/victim.txt';
const CONTENT = 'of the victim';

/** Names in every folder around the one of the bucket. */
function namesAround(dataFolder: string): string[] {
  return ['.', '..', 'secrets', 'objects', 'logs'].flatMap((folder) =>
    readdirSync(join(dataFolder, folder)).filter((name) => folder !== '..' || name.includes('escaped')),
  );
}

/** The embedded object store: signatures, presigned addresses, keys of objects. */
export function attackObjectStore(arena: FindArena): void {
  describe('object store', () => {
    let store: Client;
    let endpoint: string;
    let bucket: string;

    beforeAll(async () => {
      const { objectStore } = arena().platform.credentials;
      store = storeClient(objectStore);
      ({ endpoint, bucket } = objectStore);
      await store.putObject(bucket, KEY, CONTENT);
    });

    const kept = async (): Promise<string> => {
      const chunks: Buffer[] = [];
      for await (const chunk of await store.getObject(bucket, KEY)) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks).toString();
    };
    const send = (method: string, url: string, body?: string, headers?: Record<string, string>) =>
      arena().transcript.call(method, url, {
        ...(body === undefined ? {} : { body }),
        headers: { ...headers },
      });

    it('refuses every call without a signature', async () => {
      const object = `${endpoint}/${bucket}/${KEY}`;
      const rows = [
        ['GET', `${endpoint}/`],
        ['GET', `${endpoint}/${bucket}`],
        ['GET', `${endpoint}/${bucket}?list-type=2`],
        ['GET', `${endpoint}/${bucket}?uploads`],
        ['GET', `${endpoint}/${bucket}?location`],
        ['HEAD', object],
        ['GET', object],
        ['PUT', object],
        ['DELETE', object],
        ['POST', `${object}?uploads`],
        ['POST', `${endpoint}/${bucket}?delete`],
        ['PUT', `${endpoint}/another-bucket`],
        ['DELETE', `${endpoint}/${bucket}`],
        ['GET', `${endpoint}/no-such-bucket/no-such-key`],
      ] as const;
      for (const [method, url] of rows)
        for (const authorization of [undefined, 'AWS4-HMAC-SHA256', 'AWS a:b', 'Bearer x']) {
          const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
          const { status } = await send(method, url, undefined, headers);
          expect([method, url, headers, status >= 400 && status < 500]).toEqual([method, url, headers, true]);
        }
      expect(await kept()).toBe(CONTENT);
    });

    it('refuses a wrong secret and an unknown key', async () => {
      const { objectStore } = arena().platform.credentials;
      for (const [wrong, code] of [
        [{ secretAccessKey: 'x'.repeat(40) }, 'SignatureDoesNotMatch'],
        [{ accessKeyId: 'AGENTPLANE0000000000' }, 'InvalidAccessKeyId'],
      ] as const) {
        const client = storeClient({ ...objectStore, ...wrong });
        await expect(client.putObject(bucket, KEY, 'changed')).rejects.toMatchObject({ code });
        await expect(client.getObject(bucket, KEY)).rejects.toMatchObject({ code });
        await expect(client.removeObject(bucket, KEY)).rejects.toMatchObject({ code });
      }
      expect(await kept()).toBe(CONTENT);
    });

    it('refuses a presigned address that was changed', async () => {
      const good = await store.presignedGetObject(bucket, KEY, 60);
      expect((await send('GET', good)).text).toBe(CONTENT);
      const changed = (change: (url: URL) => void): string => {
        const url = new URL(good);
        change(url);
        return url.href;
      };
      const set = (name: string, value: string) =>
        changed(({ searchParams }) => searchParams.set(name, value));
      const rows: Readonly<Record<string, readonly [string, string]>> = {
        'another key': ['GET', changed((url) => (url.pathname = `/${bucket}/attack/other.txt`))],
        'another bucket': ['GET', changed((url) => (url.pathname = `/other/${KEY}`))],
        'the bucket': ['GET', changed((url) => (url.pathname = `/${bucket}`))],
        'a longer life': ['GET', set('X-Amz-Expires', '604800')],
        'another day': ['GET', set('X-Amz-Date', '20200101T000000Z')],
        'an empty signature': ['GET', set('X-Amz-Signature', '')],
        'a wrong signature': ['GET', set('X-Amz-Signature', '0'.repeat(64))],
        'no signature': ['GET', changed(({ searchParams }) => searchParams.delete('X-Amz-Signature'))],
        'another credential': ['GET', set('X-Amz-Credential', 'A/20260101/us-east-1/s3/aws4_request')],
        'fewer signed headers': ['GET', set('X-Amz-SignedHeaders', '')],
        'one parameter more': ['GET', set('response-content-type', 'text/html')],
        'a list instead': ['GET', set('list-type', '2')],
        'another method': ['DELETE', good],
        'a write': ['PUT', good],
        'an upload': ['POST', set('uploads', '')],
      };
      for (const [what, [method, url]] of Object.entries(rows)) {
        const { status, text } = await send(method, url);
        expect([what, status >= 400 && status < 500, text.includes(CONTENT)]).toEqual([what, true, false]);
      }
      expect(await kept()).toBe(CONTENT);
    });

    it('refuses a presigned address that is over', async () => {
      const short = await store.presignedGetObject(bucket, KEY, 1);
      const status = await waitFor(async () => {
        const one = (await send('GET', short)).status;
        return one !== 200 && one;
      });
      expect(status).toBe(403);
    });

    it('keeps every key inside its bucket', async () => {
      const { dataFolder } = arena().platform;
      const before = namesAround(dataFolder);
      const keys = [
        '../escaped',
        '../../escaped',
        '../../../secrets/ca.key',
        'a/../../escaped',
        '/escaped',
        '//escaped',
        '.',
        '..',
        'a/./b',
        'a//b',
        '..\\..\\escaped',
        '%2e%2e/escaped',
        '..%2fescaped',
        '.store/facts/x',
        'a\u0001b',
        'x'.repeat(1024),
      ];
      for (const key of keys)
        try {
          await store.putObject(bucket, key, 'escaped');
          const chunks: Buffer[] = [];
          for await (const chunk of await store.getObject(bucket, key)) chunks.push(chunk as Buffer);
          expect([key, Buffer.concat(chunks).toString()]).toEqual([key, 'escaped']);
        } catch (error) {
          // refused by the store or by the client: both keep the key inside
          expect(error).toBeInstanceOf(Error);
        }
      expect(namesAround(dataFolder)).toEqual(before);
      for (const source of [`/${bucket}/../../secrets/ca.key`, '/../secrets/ca.key', '/.store/facts'])
        await expect(store.copyObject(bucket, 'copied', source)).rejects.toBeDefined();
      for (const name of ['..', '.store', '../secrets', 'a/../..'])
        await expect((async () => store.makeBucket(name))()).rejects.toBeDefined();
      expect(await kept()).toBe(CONTENT);
    });
  });
}
