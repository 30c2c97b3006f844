import type { IncomingMessage } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'minio';
import { createLogger } from '#lib/telemetry';
import { bodyOf, readText } from './request-body.js';
import type { Signed } from './signature.js';
import { startObjectStore, type EmbeddedObjectStore } from './start-object-store.js';
import { StoreUserFile } from './users/store-user-file.js';

const MIB = 1 << 20;
const SIGNED = { payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' } as Signed;

/** A chunked body whose headers state a length. */
function chunked(stated: number, text: Iterable<string>): { body: IncomingMessage; sent: () => number } {
  let sent = 0;
  const pieces = (function* () {
    for (const piece of text) {
      sent += piece.length;
      yield Buffer.from(piece);
    }
  })();
  const body = Object.assign(Readable.from(pieces), {
    headers: { 'x-amz-decoded-content-length': String(stated) },
  });
  return { body: body as unknown as IncomingMessage, sent: () => sent };
}

function* endless(piece: string): Generator<string> {
  for (let count = 0; count * piece.length < 64 * MIB; count++) yield piece;
}

describe('a chunked document', () => {
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;

  it.each([
    ['has more bytes than are stated', 10, endless(chunk), 'more than the 10 bytes stated'],
    [
      'has trailers without an end',
      0,
      ['0\r\n', ...endless(`a:${'b'.repeat(8000)}\r\n`)],
      'trailers are too long',
    ],
  ])('fails at once when it %s', async (_, stated, text, message) => {
    const { body, sent } = chunked(stated, text);
    await expect(readText(bodyOf(body, SIGNED))).rejects.toThrow(message);
    expect(sent()).toBeLessThan(4 * MIB);
  });

  it('arrives whole in chunks of one byte', async () => {
    const { body } = chunked(3, ['1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n']);
    expect(await readText(bodyOf(body, SIGNED))).toBe('abc');
  });
});

describe('a document of a user who may do little', () => {
  let folder: string;
  let store: EmbeddedObjectStore;
  let client: Client;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'object-store-documents-'));
    const users = new StoreUserFile(join(folder, 'users.json'));
    const { accessKeyId, secretAccessKey } = users.ensure('one', [
      { bucket: 'shared', prefix: 'one', actions: ['write', 'read', 'delete'] },
    ]);
    store = await startObjectStore({
      folder: join(folder, 'objects'),
      host: '127.0.0.1',
      port: 0,
      log: createLogger('test', 'silent'),
      buckets: ['shared'],
      users,
    });
    client = new Client({
      endPoint: '127.0.0.1',
      port: store.port,
      useSSL: false,
      region: 'us-east-1',
      accessKey: accessKeyId,
      secretKey: secretAccessKey,
    });
  });

  afterAll(async () => {
    await store.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const remove = async (body: string): Promise<string> => {
    const url = await client.presignedUrl('POST', 'shared', '', 60, { delete: '' });
    const answer = await fetch(url, { method: 'POST', body });
    return `${answer.status} ${(await answer.text()).replace('\n', '')}`;
  };

  it('fails when it names a character that does not exist', async () => {
    expect(await remove('<Object><Key>one/&#x110000;</Key></Object>')).toMatch(/^400 .*MalformedXML/);
    expect(await remove('<Object><Key>one/&#xzz;</Key></Object>')).toMatch(/^200 /);
  });

  it('has its neighbours, spaces and escapes as they are', async () => {
    const body =
      '<Delete><ObjectList/><Object a="b"><Key>one/a&amp;b&#x20;c</Key></Object><Object><Key>two</Key></Object></Delete>';
    expect(await remove(body)).toMatch(
      /<Deleted><Key>one\/a&amp;b c<\/Key><\/Deleted><Error><Key>two<\/Key><Code>AccessDenied/,
    );
  });

  it('does not choose a header of an answer that is none', async () => {
    await client.putObject('shared', 'one/a', 'text');
    const get = (type: string) =>
      client
        .presignedGetObject('shared', 'one/a', 60, { 'response-content-type': type })
        .then((url) => fetch(url));
    expect((await get('text/plain')).headers.get('content-type')).toBe('text/plain');
    expect(await get('a\r\nb: c')).toMatchObject({ status: 400 });
  });
});
