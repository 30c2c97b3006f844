import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BulkExport } from '#lib/resources';
import { FakeClock, waitFor } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { ExportTables } from './export-tables.js';

const MEGABYTE = 1_048_576;
const caller = { tenantId: 'one', keyId: 'key', scope: 'workspace' } as const;
const source = {
  metadata: { name: 'lake', namespace: 'ws-one', uid: '9d0de6ac-3a2e-4a4c-8a3f-6a5f7ce1b3a0' },
  spec: { table: 'iceberg', tracingProject: { name: 'p' }, destinationRef: { name: 'store' } },
} as BulkExport;

/** A server that is no object store: the endpoint of a destination is what its workspace wrote. */
describe('tables in a store of a workspace', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const server = createServer((request, response) => answer(request, response));
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  function load(clock: Clock = systemClock) {
    const held: number[] = [];
    const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const config = { bucketName: 'bucket', endpointUrl, includeBucketInPrefix: true };
    const homes = {
      destinations: {
        findByName: () => ({
          metadata: { name: 'store', namespace: 'ws-one' },
          spec: { type: 'object_store', config, credentialsSecretRef: { name: 'keys' } },
        }),
      },
      secrets: {
        values: () =>
          Promise.resolve(
            new Map([
              ['access_key_id', 'ID'],
              ['secret_access_key', 'SECRET'],
            ]),
          ),
      },
    };
    const workspaces = { homeOf: () => ({ namespace: 'ws-one', allowsEnvironmentCredentials: false }) };
    const tables = new ExportTables(homes as never, workspaces as never, true, clock);
    const table = { namespace: 'p', name: 'lake', source, resource: 'runs' } as const;
    const account = {
      hold: (bytes: number) => void held.push(bytes),
      keep: (bytes: number) => void held.push(bytes),
    };
    return { held, loaded: tables.load(caller, table, account) };
  }

  /** Answers looks by name: true for an object that exists. */
  function lookAt(
    { method, url = '' }: IncomingMessage,
    response: ServerResponse,
    exists: (url: string) => boolean,
  ): boolean {
    if (method !== 'HEAD') return false;
    const headers = { 'content-length': '2', etag: '"x"', 'last-modified': new Date(0).toUTCString() };
    if (exists(url)) response.writeHead(200, headers).end();
    else response.writeHead(404).end();
    return true;
  }

  /** Sends pieces until the other side has closed the connection. */
  async function pour(response: ServerResponse): Promise<void> {
    response.writeHead(200, { etag: '"x"' });
    const closed = once(response, 'close');
    while (!response.destroyed)
      if (!response.write(Buffer.alloc(65_536, 'x'))) await Promise.race([once(response, 'drain'), closed]);
  }

  it('answers the newest metadata, and counts what it holds', async () => {
    answer = (request, response) => {
      if (lookAt(request, response, (url) => /v[23]\.metadata/.test(url))) return;
      response.end(request.url?.includes('hint') === true ? '1' : `{"of":"${request.url}"}`);
    };
    const { held, loaded } = load();
    const { location, json } = await loaded;
    expect(location).toMatch(/^s3:\/\/bucket\/.*\/metadata\/v3\.metadata\.json$/);
    expect(json).toContain('v3.metadata.json');
    expect(held).toEqual([32 * MEGABYTE, 2 * json.length]);
  });

  it('reads no more of an answer without end than metadata may have', async () => {
    let taken = 0;
    answer = (request, response) => {
      if (lookAt(request, response, () => false)) return;
      if (request.url?.includes('hint') === true) return void response.end('1');
      response.on('error', () => undefined);
      response.on('close', () => (taken = response.socket?.bytesWritten ?? taken));
      void pour(response);
    };
    const problem = 'Reading the table failed: The object store answered EntityTooLarge';
    await expect(load().loaded).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(problem) as unknown,
    });
    await waitFor(() => taken > 0);
    expect(taken).toBeLessThan(24 * MEGABYTE);
  });

  it('stops at a store that has a next version without end, and at one that sends a byte now and then', async () => {
    const clock = new FakeClock();
    let looks = 0;
    answer = (request, response) => {
      looks++;
      if (!lookAt(request, response, () => true)) response.end('1');
    };
    const { loaded } = load(clock);
    const ended = expect(loaded).rejects.toMatchObject({ code: 'unavailable' });
    await waitFor(() => looks > 20);
    await clock.advance(30_000);
    await ended;
    const seen = looks;
    await clock.advance(30_000);
    expect(looks).toBeLessThanOrEqual(seen + 1);
  });
});
