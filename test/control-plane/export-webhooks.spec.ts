import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RenderedWebhook } from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportSpec,
  CONDITION,
  findCondition,
  idOf,
  RESOURCES,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import { itLong, temporaryFolder, waitFor } from '#lib/testing';
import { type ReceivedCall, WebhookReceiver } from '../../apps/agent-server/testdata/webhook-receiver.js';
import { startTlsFront } from '../support/tls-front.js';
import { type ControlPlane, NAMESPACE, testControlPlane } from './control-plane.js';

const PRIVATE = { AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES: 'true' };
const SECRET = 'a secret of the receiver';

describe('the controller of webhooks of exports', () => {
  const folder = temporaryFolder();
  const start = testControlPlane();
  let plane: ControlPlane;
  let projectId: string;
  let url: string;
  let key: string;
  let receiver: WebhookReceiver;
  let count = 0;
  let name: string;

  beforeAll(async () => {
    plane = await start({ isForExports: true, controller: PRIVATE });
    projectId = (await plane.traces.projects.ensure(plane.tenantId, 'p')).id;
    url = await plane.startApi(PRIVATE);
    ({ key } = await plane.traces.apiKeys.mint(plane.tenantId, { name: 'test', scope: 'workspace' }));
    await makeSecret('signing', { secret: `${SECRET}, another` });
  });
  afterAll(() => plane.stop());
  beforeEach(async () => {
    name = `w${++count}`;
    receiver = await WebhookReceiver.start();
  });
  afterEach(() => receiver.stop());

  const at = (object: string) => ({ namespace: NAMESPACE, name: object });
  const theExport = (object = name): Promise<BulkExport> =>
    plane.client.get(RESOURCES.BulkExport, at(object));

  function makeSecret(
    object: string,
    values: Readonly<Record<string, string>>,
    type: string = SECRET_TYPE.webhookSecret,
  ): Promise<unknown> {
    const encoded = Object.entries(values).map(([one, value]) => [
      one,
      Buffer.from(value).toString('base64'),
    ]);
    const data = Object.fromEntries(encoded) as Record<string, string>;
    return plane.client.create(SECRETS, { metadata: at(object), type, data });
  }

  async function restart(
    more: Readonly<Record<string, string>> = {},
    signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
  ): Promise<void> {
    await plane.program('controller').end(signal);
    await plane.startController(more);
  }

  /** One that is cancelled before it begins: its window ends in a century. */
  async function end(webhook: BulkExportSpec['webhook'], object = name): Promise<string> {
    const spec = {
      destinationRef: { name: 'local' },
      tracingProject: { id: projectId },
      webhook,
      startTime: '2126-05-01T00:00:00Z',
      endTime: '2126-05-02T00:00:00Z',
    };
    await plane.client.create(RESOURCES.BulkExport, { metadata: at(object), spec: spec as BulkExportSpec });
    const id = await waitFor(async () => idOf(await theExport(object)));
    await plane.client.merge(RESOURCES.BulkExport, at(object), { spec: { cancel: true } });
    return id;
  }

  /** The export, once its condition has the reason. */
  const until = (reason: string, object = name): Promise<BulkExport> =>
    waitFor(
      async () => {
        const found = await theExport(object);
        const condition = findCondition(found.status?.conditions, CONDITION.webhookDelivered);
        return condition?.reason === reason && found;
      },
      { what: `${object} to be ${reason}` },
    );
  /** What REST answers of an export, archived or not. */
  async function answerOf(id: string): Promise<Record<string, unknown>> {
    const response = await fetch(`${url}/api/v1/bulk-exports/${id}`, { headers: { 'x-api-key': key } });
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, unknown>;
  }
  const lastError = (): Promise<string> =>
    waitFor(async () => (await theExport()).status?.webhook?.lastError);
  const called = (times: number): Promise<readonly ReceivedCall[]> =>
    waitFor(() => Promise.resolve(receiver.calls.length >= times && receiver.calls));

  it('sends the export as REST answers it, signed with each secret', async () => {
    const id = await end({ url: receiver.url, secretRef: { name: 'signing' } });
    const { status } = await until('Delivered');
    expect(status?.webhook).toMatchObject({ attempts: 1, deliveredAt: expect.any(String) as unknown });
    const [call] = receiver.calls;
    const { event_type, event_id, webhook_sent_at, updated_at: _, ...sent } = call?.body ?? {};
    expect({ event_type, event_id }).toEqual({
      event_type: 'bulk_export.ended',
      event_id: `bulk-export-ended-${id}`,
    });
    expect(webhook_sent_at).toEqual(expect.any(String));
    const { webhook, updated_at: __, ...answered } = await answerOf(id);
    expect(sent).toEqual(answered);
    expect(sent).toMatchObject({ id, status: 'CANCELLED' });
    expect(webhook).toMatchObject({ status: 'DELIVERED', attempts: 1, signed: true });
    const headers = call?.headers ?? {};
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${call?.text}`;
    const expected = [SECRET, 'another'].map(
      (secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`,
    );
    expect(headers['webhook-signature']).toBe(expected.join(' '));
  });

  it('calls again under the same id until the receiver accepts', async () => {
    receiver.answers((response, nth) => response.writeHead(nth < 3 ? 500 : 204).end());
    const id = await end({ url: receiver.url });
    const { status } = await until('Delivered');
    expect(status?.webhook).toMatchObject({ attempts: 3, lastError: 'the receiver answered 500' });
    expect(status?.webhook?.nextAttemptAt).toBeUndefined();
    const ids = receiver.calls.map(({ headers }) => headers['webhook-id']);
    expect(ids).toEqual(Array(3).fill(`bulk-export-ended-${id}`));
  });

  it('gives up at once where the receiver answers 410', async () => {
    receiver.answers((response) => response.writeHead(410).end());
    await end({ url: receiver.url });
    const { status } = await until('DeliveryFailed');
    expect(status?.webhook).toMatchObject({ attempts: 1, lastError: 'the receiver answered 410' });
    expect(findCondition(status?.conditions, CONDITION.failed)?.reason).toBe('Cancelled');
    expect(receiver.calls).toHaveLength(1);
  });

  it('never calls without the signature that the export asks for', async () => {
    await end({ url: receiver.url, secretRef: { name: `late-${name}` } });
    expect(await lastError()).toContain(`Secret late-${name} does not exist`);
    expect(receiver.calls).toHaveLength(0);
    await makeSecret(`late-${name}`, { secret: SECRET });
    await until('Delivered');
    expect(receiver.calls[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  });

  it.each<[string, Readonly<Record<string, string>>, string | undefined, string]>([
    ['of a person', { secret: SECRET }, 'Opaque', 'is not of the type agentplane.dev/webhook-secret'],
    [
      'of a destination',
      { secret: SECRET },
      'agentplane.dev/destination-credentials',
      'is not of the type agentplane.dev/webhook-secret',
    ],
    [
      'for another URL',
      { secret: SECRET, url: 'https://receiver.example/' },
      undefined,
      'signs calls of another URL alone',
    ],
  ])('signs with no Secret %s', async (_name, values, type, why) => {
    await makeSecret(`no-${name}`, values, type);
    await end({ url: receiver.url, secretRef: { name: `no-${name}` } });
    expect(await lastError()).toContain(why);
    expect(receiver.calls).toHaveLength(0);
  });

  it('signs with a Secret for its URL', async () => {
    await makeSecret(`for-${name}`, { secret: SECRET, url: receiver.url });
    await end({ url: receiver.url, secretRef: { name: `for-${name}` } });
    await until('Delivered');
    expect(receiver.calls[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  });

  itLong('repeats the call of a controller that was killed in it', async () => {
    receiver.answers((response, nth) => (nth === 1 ? undefined : response.writeHead(204).end()));
    await end({ url: receiver.url });
    await called(1);
    await restart({}, 'SIGKILL');
    const { status } = await until('Delivered');
    expect(status?.webhook?.attempts).toBe(2);
    const [first, second] = receiver.calls.map(({ headers }) => headers['webhook-id']);
    expect(second).toBe(first);
  });

  it('refuses a certificate that the controller does not trust', async () => {
    const front = await startTlsFront('localhost', receiver.url);
    try {
      await end({ url: `https://localhost:${front.port}/hook` });
      expect(await lastError()).toContain('calling failed');
      expect(receiver.calls).toHaveLength(0);
    } finally {
      front.stop();
    }
  });

  it('calls over TLS where the controller trusts the authority', async () => {
    const front = await startTlsFront('localhost', receiver.url);
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, front.ca);
    await restart({ NODE_EXTRA_CA_CERTS: caFile });
    try {
      await end({ url: `https://localhost:${front.port}/hook` });
      await until('Delivered');
      expect(receiver.calls).toHaveLength(1);
    } finally {
      front.stop();
      await restart();
    }
  });

  it('makes two calls of a workspace at a time', async () => {
    const open: ServerResponse[] = [];
    receiver.answers((response) => open.push(response));
    const names = [0, 1, 2, 3, 4].map((n) => `${name}-${n}`);
    for (const one of names) await end({ url: receiver.url }, one);
    // each waits for its turn: what is answered makes room for one more
    for (let answered = 0; answered < names.length; answered++) {
      await called(Math.min(answered + 2, names.length));
      expect(receiver.calls.length - answered).toBeLessThanOrEqual(2);
      open.shift()?.writeHead(204).end();
    }
    for (const one of names) await until('Delivered', one);
    expect(receiver.calls).toHaveLength(names.length);
  });

  it('calls for each export of a schedule, and nothing for the schedule', async () => {
    await makeSecret(`for-${name}`, { secret: SECRET, url: receiver.url });
    const hour = new Date(Date.now() - 3 * 3_600_000).toISOString().slice(0, 14);
    await plane.client.create(RESOURCES.BulkExport, {
      metadata: at(name),
      spec: {
        destinationRef: { name: 'local' },
        tracingProject: { id: projectId },
        startTime: `${hour}00:00Z`,
        intervalHours: 1,
        webhook: { url: receiver.url, secretRef: { name: `for-${name}` } },
      } as BulkExportSpec,
    });
    const scheduleId = await waitFor(async () => idOf(await theExport()));
    const children = await waitFor(async () => {
      const { items } = await plane.client.list(RESOURCES.BulkExport, { namespace: NAMESPACE });
      const own = items.filter(({ spec }) => spec.sourceExport?.id === scheduleId);
      return own.length >= 2 && own.slice(0, 2);
    });
    for (const one of [name, ...children.map(({ metadata }) => metadata.name)])
      await plane.client.merge(RESOURCES.BulkExport, at(one), { spec: { cancel: true } });
    for (const { metadata } of children) await until('Delivered', metadata.name);
    const own = children.map((one) => idOf(one)).sort();
    const told = receiver.calls.filter(({ body }) => own.includes(String(body['id'])));
    expect(told.map(({ body }) => body['source_bulk_export_id'])).toEqual([scheduleId, scheduleId]);
    expect(told.every(({ headers }) => headers['webhook-signature'] !== undefined)).toBe(true);
    expect(receiver.calls.some(({ body }) => body['id'] === scheduleId)).toBe(false);
    expect((await theExport()).status?.webhook).toBeUndefined();
  });

  itLong('gives up the oldest where more than 200 are open', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 203; n++)
      ids.push(await end({ url: receiver.url, secretRef: { name: 'missing' } }, `${name}-${n}`));
    // by REST: what is beyond 200 is archived once its webhook is given up
    const webhookOf = async (id: string): Promise<RenderedWebhook> =>
      (await answerOf(id))['webhook'] as RenderedWebhook;
    const failed = await waitFor(
      async () => {
        const all = await Promise.all(ids.map(webhookOf));
        const given = ids.filter((_, at) => all[at]?.status === 'FAILED');
        return given.length >= 3 && given;
      },
      { intervalMs: 1_000 },
    );
    expect(failed).toHaveLength(3);
    expect((await webhookOf(failed[0] ?? '')).last_error).toContain('too many webhooks');
  });

  it('refuses private addresses unless the platform allows them', async () => {
    await restart({ AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES: 'false' });
    try {
      await end({ url: receiver.url });
      const { status } = await until('DeliveryFailed');
      expect(status?.webhook?.lastError).toContain('loopback or a private network');
      expect(status?.webhook?.lastError).not.toContain('a=b');
      expect(receiver.calls).toHaveLength(0);
    } finally {
      await restart();
    }
  });

  itLong('holds an ended export in the API server as long as its webhook is open', async () => {
    await restart({ AGENTPLANE_EXPORT_HISTORY_MS: '1000' });
    try {
      receiver.answers((response) => response.writeHead(500).end());
      await end({ url: receiver.url });
      await called(2);
      expect((await theExport()).status?.webhook?.attempts).toBeGreaterThan(0);
      receiver.answers((response) => response.writeHead(204).end());
      await waitFor(async () => {
        const found = await plane.client.find(RESOURCES.BulkExport, at(name));
        const condition = findCondition(found?.status?.conditions, CONDITION.webhookDelivered);
        return !found || condition?.reason === 'Delivered';
      });
      // a controller that starts looks at once, else it is archived a minute later at most
      await restart({ AGENTPLANE_EXPORT_HISTORY_MS: '1000' });
      await waitFor(async () => !(await plane.client.find(RESOURCES.BulkExport, at(name))));
    } finally {
      await restart();
    }
  });
});
