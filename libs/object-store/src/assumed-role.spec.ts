import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { ObjectStoreSettings } from './object-store.js';
import { openObjectStore } from './open-object-store.js';
import { testDestination } from './test-destination.js';

const ROLE = { arn: 'arn:aws:iam::111122223333:role/exports', externalId: 'tenant' };
const KEYS = { accessKeyId: 'OWN', secretAccessKey: 'own secret' };
const NAMES = ['AWS_ENDPOINT_URL_STS', 'AWS_CONTAINER_CREDENTIALS_FULL_URI', 'HTTP_PROXY'];

interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly body: URLSearchParams;
}

/** STS itself is tried in `assumed-role.long.ts`, with MinIO, which takes no session tokens. */
describe('assumed roles', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const name of NAMES) delete process.env[name];
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  async function serve(answer: () => string, asked: Asked[] = [], status = 200): Promise<string> {
    const server = createServer((request, response) => {
      const { headers } = request;
      void text(request).then((body) => {
        asked.push({ headers, body: new URLSearchParams(body) });
        response.writeHead(status).end(answer());
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const answerOf = (endsInMs: number): string =>
    `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>role secret</SecretAccessKey><SessionToken>role token</SessionToken><Expiration>${new Date(Date.now() + endsInMs).toISOString()}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;

  /** Deletes these keys at once from a store that takes everything. */
  async function remove(settings: ObjectStoreSettings, keys: readonly string[]): Promise<readonly Asked[]> {
    const asked: Asked[] = [];
    const endpoint = await serve(() => '', asked);
    const store = openObjectStore({ endpoint, allowPrivateEndpoints: true, role: ROLE, ...settings });
    await Promise.all(keys.map((key) => store.delete('bucket', key)));
    await store.delete('bucket', 'last');
    store.close();
    return asked;
  }

  it('signs all requests with one role', async () => {
    const asked: Asked[] = [];
    process.env['AWS_ENDPOINT_URL_STS'] = await serve(() => answerOf(3_600_000), asked);
    const requests = await remove(KEYS, ['a', 'b', 'c']);
    expect(requests).toHaveLength(4);
    for (const { headers } of requests)
      expect(headers).toMatchObject({
        authorization: expect.stringMatching(/Credential=ROLE\//),
        'x-amz-security-token': 'role token',
      });
    expect(asked.map(({ body }) => Object.fromEntries(body))).toEqual([
      {
        Action: 'AssumeRole',
        Version: '2011-06-15',
        RoleArn: ROLE.arn,
        RoleSessionName: 'agentplane',
        ExternalId: 'tenant',
        DurationSeconds: '3600',
      },
    ]);
  });

  it.each([
    ['it ends', answerOf(30_000)],
    ['an end that is no time', answerOf(3_600_000).replace(/(?<=<Expiration>)[^<]*/, 'soon')],
  ])('asks for a role again before %s', async (_what, answer) => {
    const asked: Asked[] = [];
    process.env['AWS_ENDPOINT_URL_STS'] = await serve(() => answer, asked);
    await remove(KEYS, ['a']);
    expect(asked).toHaveLength(2);
  });

  it('sends the token of the role of a pod', async () => {
    const asked: Asked[] = [];
    process.env['AWS_ENDPOINT_URL_STS'] = await serve(() => answerOf(3_600_000), asked);
    const ofPod = { AccessKeyId: 'POD', SecretAccessKey: 'pod secret', Token: 'pod token' };
    const Expiration = '2099-01-01T00:00:00Z';
    process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = await serve(() =>
      JSON.stringify({ ...ofPod, Expiration }),
    );
    process.env['HTTP_PROXY'] = await serve(() => '');
    const endpoint = 'http://s3.us-east-1.amazonaws.com';
    await remove({ endpoint, allowEnvironmentCredentials: true }, []);
    expect(asked[0]?.headers).toMatchObject({
      'x-amz-security-token': 'pod token',
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=POD\/\d{8}\/us-east-1\/sts\/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
      ),
    });
  });

  it('assumes no role for the server of a tenant with the keys of the platform', async () => {
    process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = 'http://127.0.0.1:1';
    const settings = { endpoint: 'http://127.0.0.1:1', allowEnvironmentCredentials: true };
    const all = { ...settings, allowPrivateEndpoints: true, role: ROLE };
    expect(await testDestination(all, 'bucket', undefined)).toMatchObject({ detail: 'InvalidEndpoint' });
  });

  it.each([
    [
      403,
      '<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>',
      false,
      /assumed: AccessDenied: not you;/,
    ],
    [
      400,
      '<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>',
      true,
      /assumed: Throttling/,
    ],
    [503, 'away', true, /STS did not answer as it should \(ServiceUnavailable\)/],
    [200, '<html>', true, /the answer of STS has no AccessKeyId/],
  ])('names what STS answers with status %d', async (status, answer, retryable, advice) => {
    process.env['AWS_ENDPOINT_URL_STS'] = await serve(() => answer, [], status);
    const settings = { endpoint: await serve(() => ''), allowPrivateEndpoints: true, role: ROLE, ...KEYS };
    expect(await testDestination(settings, 'bucket', undefined)).toMatchObject({
      message: 'Access denied',
      retryable,
      advice: expect.stringMatching(advice),
    });
  });

  it('asks no private address without leave', async () => {
    const asked: Asked[] = [];
    process.env['AWS_ENDPOINT_URL_STS'] = await serve(() => answerOf(3_600_000), asked);
    const check = await testDestination({ region: 'eu-central-1', role: ROLE, ...KEYS }, 'bucket', undefined);
    expect([asked, check]).toEqual([[], expect.objectContaining({ kind: 'refused' })]);
  });
});
