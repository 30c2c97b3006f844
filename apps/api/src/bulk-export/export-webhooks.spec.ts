import { describe, expect, it } from '@jest/globals';
import { ANNOTATION, type BulkExport, idOf, RESOURCES, SECRET_TYPE, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import { testBucket } from '../testdata/test-bucket.js';

const WINDOW = { start_time: '2026-05-01T00:00:00Z', end_time: '2026-05-02T00:00:00Z' };
const PATH = '/api/v1/bulk-exports';
const SECRET = 'a secret of the receiver';
/** Public address that is never called: no controller runs. */
const RECEIVER = 'https://223.255.255.255/hook?token=of-the-receiver#part';

describe('the webhook of a requested export', () => {
  const running = testApi();
  const { api, tenant } = running;
  const bucket = testBucket(running);

  const create = async (webhook: object, headers?: Record<string, string>) =>
    tenant.call('POST', PATH, { ...bucket.request, ...WINDOW, webhook }, headers);
  const resource = async (id: string): Promise<BulkExport> => {
    const { items } = await api.client.list(RESOURCES.BulkExport, { namespace: tenant.namespace });
    const found = items.find((one) => idOf(one) === id);
    if (!found) throw new Error(`no BulkExport has the id ${id}`);
    return found;
  };
  const secretNames = async (): Promise<string[]> => {
    const { items } = await api.client.list(SECRETS, { namespace: tenant.namespace });
    return items
      .filter(({ type }) => type === SECRET_TYPE.webhookSecret)
      .map(({ metadata }) => metadata.name);
  };

  it('shows neither its query nor its secret', async () => {
    const made = await create({ url: RECEIVER, secret: SECRET });
    expect(made.status).toBe(200);
    expect(made.json.webhook).toEqual({
      url: 'https://223.255.255.255/hook',
      signed: true,
      status: 'PENDING',
      attempts: 0,
      last_attempt_at: null,
      next_attempt_at: null,
      delivered_at: null,
      last_error: null,
    });
    expect(made.text).not.toContain(SECRET);
    expect((await tenant.call('POST', PATH, { ...bucket.request, ...WINDOW })).json.webhook).toBeNull();
  });

  it('keeps its secret in a Secret that goes with the export', async () => {
    const { metadata, spec } = await resource((await create({ url: RECEIVER, secret: SECRET })).json.id);
    const name = spec.webhook?.secretRef?.name ?? '';
    expect(spec.webhook?.url).toBe('https://223.255.255.255/hook?token=of-the-receiver');
    expect(metadata.annotations?.[ANNOTATION.webhookSecret]).toBe(name);
    const secret = await api.client.get(SECRETS, { namespace: tenant.namespace, name });
    expect(secret).toMatchObject({
      type: SECRET_TYPE.webhookSecret,
      immutable: true,
      data: {
        secret: Buffer.from(SECRET).toString('base64'),
        url: Buffer.from(spec.webhook?.url ?? '').toString('base64'),
      },
      metadata: { ownerReferences: [{ kind: 'BulkExport', uid: metadata.uid }] },
    });
  });

  it('makes no Secret without a secret', async () => {
    const before = await secretNames();
    const made = await create({ url: RECEIVER });
    expect(made.json.webhook.signed).toBe(false);
    expect((await resource(made.json.id)).spec.webhook?.secretRef).toBeUndefined();
    expect(await secretNames()).toEqual(before);
  });

  it('compares secrets, and no names of Secrets, under one Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'webhook-1' };
    const first = await create({ url: RECEIVER, secret: SECRET }, headers);
    const before = await secretNames();
    const again = await create({ url: RECEIVER, secret: SECRET }, headers);
    expect([again.status, again.json.id]).toEqual([200, first.json.id]);
    expect((await create({ url: RECEIVER, secret: `${SECRET}!` }, headers)).status).toBe(409);
    // its fragment is not sent
    expect((await create({ url: `${RECEIVER}2`, secret: SECRET }, headers)).status).toBe(200);
    expect((await create({ url: 'https://223.255.255.254/', secret: SECRET }, headers)).status).toBe(409);
    expect(await secretNames()).toEqual(before);
  });

  it('makes the Secret that a request did not get to make, when the request is repeated', async () => {
    const headers = { 'Idempotency-Key': 'webhook-2' };
    const first = await create({ url: RECEIVER, secret: SECRET }, headers);
    const { spec } = await resource(first.json.id);
    const place = { namespace: tenant.namespace, name: spec.webhook?.secretRef?.name ?? '' };
    await api.client.delete(SECRETS, place);
    expect((await create({ url: RECEIVER, secret: SECRET }, headers)).json.id).toBe(first.json.id);
    expect((await api.client.get(SECRETS, place)).type).toBe(SECRET_TYPE.webhookSecret);
  });

  it('shows how far the calls came', async () => {
    const { id } = (await create({ url: RECEIVER })).json;
    const { name } = (await resource(id)).metadata;
    const time = '2026-06-01T00:00:00Z';
    const condition = { type: 'WebhookDelivered', reason: 'DeliveryFailed', message: 'given up' };
    await api.client.mergeStatus(
      RESOURCES.BulkExport,
      { namespace: tenant.namespace, name },
      {
        status: {
          conditions: [{ ...condition, status: 'False', lastTransitionTime: time }],
          webhook: { attempts: 3, firstAttemptAt: time, lastAttemptAt: time, lastError: 'answered 410' },
        },
      },
    );
    // the cache of the api follows
    const shown: unknown = await waitFor(async () => {
      const { webhook } = (await tenant.call('GET', `${PATH}/${id}`)).json;
      return webhook.attempts > 0 && webhook;
    });
    expect(shown).toMatchObject({ status: 'FAILED', attempts: 3, last_error: 'answered 410' });
  });

  it.each<[string, object, string]>([
    ['loopback', { url: 'http://127.0.0.1/' }, 'body.webhook.url webhook_refused'],
    ['a private network', { url: 'http://10.0.0.1/' }, 'body.webhook.url webhook_refused'],
    ['the metadata of a cloud', { url: 'http://169.254.169.254/' }, 'body.webhook.url webhook_refused'],
    ['a password in the URL', { url: 'https://a:b@223.255.255.255/' }, 'body.webhook.url webhook_refused'],
    ['another protocol', { url: 'ftp://223.255.255.255/' }, 'body.webhook.url webhook_refused'],
    ['no URL', { url: 'hook' }, 'body.webhook.url webhook_refused'],
    ['a short secret', { url: RECEIVER, secret: 'short' }, 'body.webhook.secret string_too_short'],
    ['a secret of commas', { url: RECEIVER, secret: ','.repeat(20) }, 'body.webhook.secret webhook_refused'],
  ])('refuses %s', async (_name, webhook, expected) => {
    const answer = await create(webhook);
    expect(answer.status).toBe(422);
    const [problem] = answer.json.detail as { loc: string[]; type: string }[];
    expect(`${problem?.loc.join('.')} ${problem?.type}`).toBe(expected);
  });
});
