import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { openObjectStore } from './open-object-store.js';
import { testDestination } from './test-destination.js';

const ROLE = {
  AccessKeyId: 'ROLE',
  SecretAccessKey: 'secret-of-the-role',
  Token: 'token-of-the-role',
  Expiration: '2099-01-01T00:00:00Z',
};
const NAMES = [
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'HTTP_PROXY',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
];

describe('the credentials of the environment', () => {
  const folder = temporaryFolder();
  const servers: Server[] = [];
  afterEach(() => {
    for (const name of NAMES) delete process.env[name];
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  async function serve(body: string, asked: IncomingHttpHeaders[] = []): Promise<string> {
    const server = createServer((request, response) => {
      asked.push(request.headers);
      response.end(body);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function offer(environment: Readonly<Record<string, string>>, allowEnvironmentCredentials = true) {
    const asked: IncomingHttpHeaders[] = [];
    const endpoint = await serve('', asked);
    Object.assign(process.env, environment);
    return {
      asked,
      check: await testDestination(
        { endpoint, allowPrivateEndpoints: true, allowEnvironmentCredentials },
        'bucket',
        undefined,
      ),
    };
  }

  it('stays unused where the workspace does not allow it', async () => {
    const { asked, check } = await offer({ AWS_ACCESS_KEY_ID: 'A', AWS_SECRET_ACCESS_KEY: 'B' }, false);
    expect(asked).toEqual([]);
    expect(check).toMatchObject({
      kind: 'refused',
      message: 'Access denied',
      advice: expect.stringMatching(/spec\.allowEnvironmentCredentials of the Workspace/),
    });
  });

  it('keeps those of a role from the server of a tenant', async () => {
    const role = await serve(JSON.stringify(ROLE));
    const { asked, check } = await offer({ AWS_CONTAINER_CREDENTIALS_FULL_URI: role });
    expect(asked).toEqual([]);
    expect(check).toMatchObject({ kind: 'refused', detail: 'InvalidEndpoint' });
  });

  it('keeps those with a token from the server of a tenant', async () => {
    const { asked, check } = await offer({
      AWS_ACCESS_KEY_ID: 'A',
      AWS_SECRET_ACCESS_KEY: 'B',
      AWS_SESSION_TOKEN: 'C',
    });
    expect(asked).toEqual([]);
    expect(check).toMatchObject({ kind: 'refused', advice: expect.stringMatching(/give credentials/) });
  });

  it('signs for a store that is not of AWS with keys that last', async () => {
    const { asked } = await offer({ AWS_ACCESS_KEY_ID: 'A', AWS_SECRET_ACCESS_KEY: 'B' });
    expect(asked[0]?.authorization).toMatch(/Credential=A\//);
  });

  it('signs with those of a role, which it asks for again with a renewed token before they end', async () => {
    const roleAsked: IncomingHttpHeaders[] = [];
    // over within the minute in which they are asked for again
    const Expiration = new Date(Date.now() + 30_000).toISOString();
    const role = await serve(JSON.stringify({ ...ROLE, Expiration }), roleAsked);
    const asked: IncomingHttpHeaders[] = [];
    const file = join(folder, 'token');
    await writeFile(file, 'first\n');
    Object.assign(process.env, {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: role,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
      // a substitute for AWS, since only AWS's host names get a role's credentials
      HTTP_PROXY: await serve('', asked),
    });
    const store = openObjectStore({
      endpoint: 'http://s3.us-east-1.amazonaws.com',
      allowEnvironmentCredentials: true,
    });
    await store.delete('bucket', 'a');
    await writeFile(file, 'second');
    await store.delete('bucket', 'b');
    store.close();
    expect(roleAsked.map(({ authorization }) => authorization)).toEqual(['first', 'second']);
    expect(asked).toHaveLength(2);
    for (const headers of asked)
      expect(headers).toMatchObject({
        'x-amz-security-token': 'token-of-the-role',
        authorization: expect.stringMatching(
          /Credential=ROLE\/.*SignedHeaders=[^,]*x-amz-security-token[^,]*, *Signature=[0-9a-f]{64}$/,
        ),
      });
  });

  it.each([
    ['no JSON', 'token-of-the-role'],
    ['no key', JSON.stringify({ ...ROLE, AccessKeyId: undefined })],
    ['no end', JSON.stringify({ ...ROLE, Expiration: 'never' })],
  ])('names no key of a role whose answer has %s', async (_what, body) => {
    process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = await serve(body);
    const check = await testDestination(
      { region: 'r', allowEnvironmentCredentials: true },
      'bucket',
      undefined,
    );
    expect(check).toMatchObject({
      kind: 'refused',
      advice: expect.stringMatching(/no credentials were found/),
    });
    expect(JSON.stringify(check)).not.toMatch(/of-the-role/);
  });

  it.each([
    ['https://s3.us-east-1.amazonaws.com', true],
    ['https://s3-fips.dualstack.us-gov-west-1.amazonaws.com', true],
    ['https://bucket.vpce-1a2b.s3.eu-central-1.vpce.amazonaws.com', true],
    ['https://s3.cn-north-1.amazonaws.com.cn', true],
    ['https://s3-evil-1.us-east-1.elb.amazonaws.com', false],
    ['https://s3.execute-api.us-east-1.amazonaws.com', false],
    ['https://s3.amazonaws.com.evil.example', false],
    ['https://evils3.amazonaws.com', false],
  ])('decides for %s whether a role is used: %s', (endpoint, isUsed) => {
    const open = (): void => openObjectStore({ endpoint, allowEnvironmentCredentials: true }).close();
    if (isUsed) expect(open).not.toThrow();
    else expect(open).toThrow();
  });
});
