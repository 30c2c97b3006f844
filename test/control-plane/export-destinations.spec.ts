import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EmbeddedObjectStore, type FaultTarget, startObjectStore } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, waitFor } from '#lib/testing';
import { startTlsFront, type TlsFront } from '../support/tls-front.js';
import { ExportPlane } from './export-plane.js';

/** What destinations may have, runs of exports and stores have to take. */
const PREFIX = "R&D 100%/~$a=b+c,d;e:f@g!'()*?#[]-_./ä日😀";
const KEYS = { accessKeyId: 'AKTLS', secretAccessKey: 'secret-of-tls' };
const DAY = '2026-05-01';
const WINDOW = { startTime: `${DAY}T00:00:00Z`, endTime: '2026-05-02T00:00:00Z' };
const DESTINATIONS = '/destinations';

interface Destination {
  readonly id: string;
  readonly detail?: string;
}

/** A store with temporary credentials, behind TLS with a certificate of an authority that no system knows. */
describe('a destination over TLS with a session token', () => {
  const folder = temporaryFolder();
  const caFile = join(folder, 'authority.pem');
  const trust = { NODE_EXTRA_CA_CERTS: caFile };
  let store: EmbeddedObjectStore;
  let front: TlsFront;
  /** Tokens that the store takes. */
  const tokens = new Set(['first']);
  const asked: FaultTarget[] = [];
  /** Parts of which export are held, and until when. */
  let held: { readonly id: string; readonly until: Promise<unknown> } | undefined;

  beforeAll(async () => {
    store = await startObjectStore({
      folder: join(folder, 'tls'),
      host: '127.0.0.1',
      port: 0,
      buckets: ['lake'],
      log: createLogger('test', 'silent'),
      ...KEYS,
      fault: (target) => {
        asked.push(target);
        const token = target.headers['x-amz-security-token'];
        // what is not signed could be anybody's
        const isSigned = /SignedHeaders=[^,]*x-amz-security-token/.test(
          String(target.headers['authorization']),
        );
        const isKnown = typeof token === 'string' && tokens.has(token) && isSigned;
        if (!isKnown) return { kind: 'error', code: 'AccessDenied' };
        return held && target.key.includes(held.id) && target.query.has('partNumber')
          ? { kind: 'hold', until: held.until }
          : undefined;
      },
    });
    front = await startTlsFront('localhost', store.endpoint);
    writeFileSync(caFile, front.ca);
  });
  afterAll(async () => {
    front.stop();
    await store.stop();
  });
  const plane = new ExportPlane({
    controller: trust,
    node: trust,
    api: { ...trust, AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true' },
  });

  const credentials = (token: string | null) => ({
    access_key_id: KEYS.accessKeyId,
    secret_access_key: KEYS.secretAccessKey,
    session_token: token,
  });
  const make = (token: string | null, port = front.port) =>
    plane.rest<Destination>(
      DESTINATIONS,
      'POST',
      {},
      {
        destination_type: 'object_store',
        display_name: `tls ${port} ${token}`,
        config: { bucket_name: 'lake', prefix: PREFIX, endpoint_url: `https://localhost:${port}` },
        credentials: credentials(token),
      },
    );
  const begin = (destination: string, project: string) =>
    plane.rest<{ readonly id: string }>(
      '',
      'POST',
      {},
      {
        bulk_export_destination_id: destination,
        session_id: project,
        start_time: WINDOW.startTime,
        end_time: WINDOW.endTime,
        format_version: 'v2_beta',
      },
    );
  const ended = (id: string) =>
    waitFor(
      async () => {
        const { body } = await plane.rest<{ status: string; status_message: string }>(`/${id}`);
        return ['COMPLETED', 'FAILED'].includes(body.status) ? body : undefined;
      },
      { what: 'the export to end' },
    );

  it('needs its token, and an authority that the platform trusts', async () => {
    for (const token of [null, 'other']) {
      const { status, body } = await make(token);
      expect(status).toBe(400);
      expect(body.detail).toMatch(/^Access denied: AccessDenied: /);
    }
    const stranger = await startTlsFront('localhost', store.endpoint);
    try {
      const { status, body } = await make('first', stranger.port);
      expect(status).toBe(400);
      expect(body.detail).toMatch(/^Invalid endpoint: its certificate is .* NODE_EXTRA_CA_CERTS/);
    } finally {
      stranger.stop();
    }
  });

  it('takes exports, later ones with new credentials that replaced the former', async () => {
    const project = await plane.add('tls', [{ start_time: `${DAY}T12:00:00Z` }]);
    const { status, body } = await make('first');
    expect([status, body.detail]).toEqual([200, undefined]);
    const first = await begin(body.id, project);
    expect(await ended(first.body.id)).toMatchObject({ status: 'COMPLETED' });
    // the files of the worker went through TLS with the token, as did the controller's test
    const isFile = ({ query, key }: FaultTarget): boolean =>
      query.has('partNumber') && key.startsWith(`${PREFIX}/export_id=${first.body.id}/`);
    expect(asked.some(isFile)).toBe(true);

    tokens.delete('first');
    tokens.add('second');
    const refused = await begin(body.id, project);
    const failed = await ended(refused.body.id);
    expect([failed.status, failed.status_message]).toEqual([
      'FAILED',
      expect.stringContaining('AccessDenied'),
    ]);
    const changed = await plane.rest<Destination>(
      `${DESTINATIONS}/${body.id}`,
      'PATCH',
      {},
      {
        credentials: credentials('second'),
      },
    );
    expect([changed.status, changed.body.detail]).toEqual([200, undefined]);
    const second = await begin(body.id, project);
    expect(await ended(second.body.id)).toMatchObject({ status: 'COMPLETED' });
  });

  it('leaves running exports their credentials when it gets new ones, also in a later attempt', async () => {
    tokens.add('third');
    const project = await plane.add('rotated', [{ start_time: `${DAY}T12:00:00Z` }]);
    const { body } = await make('second');
    const { promise: until, resolve } = Promise.withResolvers<undefined>();
    const running = (await begin(body.id, project)).body.id;
    held = { id: running, until };
    /** Tokens that requests for the files of an export had, in order. */
    const used = (id: string): readonly unknown[] => [
      ...new Set(
        asked.filter(({ key }) => key.includes(id)).map(({ headers }) => headers['x-amz-security-token']),
      ),
    ];
    const isHeld = () => asked.some(({ key, query }) => key.includes(running) && query.has('partNumber'));
    await waitFor(isHeld, { what: 'a part to be held' });
    const changed = await plane.rest<Destination>(
      ...([`${DESTINATIONS}/${body.id}`, 'PATCH', {}, { credentials: credentials('third') }] as const),
    );
    expect([changed.status, changed.body.detail]).toEqual([200, undefined]);
    await plane.node.kill(`export-${running.slice(0, 13)}`);
    const later = (await begin(body.id, project)).body.id;
    expect(await ended(later)).toMatchObject({ status: 'COMPLETED' });
    held = undefined;
    resolve(undefined);
    expect(await ended(running)).toMatchObject({ status: 'COMPLETED' });
    const { body: runs } = await plane.rest<readonly { readonly retry_number: number }[]>(`/${running}/runs`);
    expect(runs.map(({ retry_number: retries }) => retries)).toEqual([1]);
    expect([used(running), used(later)]).toEqual([['second'], ['third']]);
  });
});
