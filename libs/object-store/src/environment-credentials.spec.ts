import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { openObjectStore } from './open-object-store.js';
import { testDestination } from './test-destination.js';

const ROLE = {
  AccessKeyId: 'ROLE',
  SecretAccessKey: 'secret-of-the-role',
  Token: 'token-of-the-role',
  Expiration: '2099-01-01T00:00:00Z',
};
const NAMES = [
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
];

describe('the credentials of the environment', () => {
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
