import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NAMESPACES } from '#lib/resources';
import { FakeClock, hasRealKubernetes, selfSigned, temporaryFolder, testApiServer } from '#lib/testing';
import { KubeClient } from '../client/kube-client.js';
import { loadKubeConnection } from './load-kube-connection.js';

const ACCOUNTS = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};

(hasRealKubernetes ? describe : describe.skip)('an exec plugin towards a real API server', () => {
  const server = testApiServer();
  const folder = temporaryFolder();
  const answers = join(folder, 'answers');
  const kubeconfigPath = join(folder, 'config');
  let admin: KubeClient;

  /** The plugin answers with these, one after the other; the last one again and again. */
  function answerWith(...credentials: readonly object[]): void {
    const line = (status: object) =>
      JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status });
    writeFileSync(answers, `${credentials.map(line).join('\n')}\n`);
  }

  async function tokenOf(name: string): Promise<string> {
    await admin.create(ACCOUNTS, { metadata: { name, namespace: 'login' } });
    return (await admin.createToken({ name, namespace: 'login' })).token;
  }

  async function userOf(client: KubeClient): Promise<string> {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const answer = (await client.raw('POST', path, { body: review })) as {
      readonly status: { readonly userInfo: { readonly username: string } };
    };
    return answer.status.userInfo.username;
  }

  beforeAll(async () => {
    admin = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }));
    await admin.create(NAMESPACES, { metadata: { name: 'login' } });
    const plugin = join(folder, 'plugin.sh');
    writeFileSync(
      plugin,
      `#!/bin/sh
cd ${folder}
head -n 1 answers
[ "$(wc -l < answers)" -eq 1 ] || { tail -n +2 answers > next && mv next answers; }
`,
    );
    chmodSync(plugin, 0o700);
    writeFileSync(
      kubeconfigPath,
      `
apiVersion: v1
kind: Config
current-context: cloud
clusters: [{name: c, cluster: {server: "${server.url}", insecure-skip-tls-verify: true}}]
users:
- name: u
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh, args: null, env: null, interactiveMode: IfAvailable, provideClusterInfo: true}
contexts: [{name: cloud, context: {cluster: c, user: u}}]
`,
    );
  });
  afterAll(() => admin.close());

  it('gives another token when the first is about to end', async () => {
    const soon = new Date(Date.now() + 5_000).toISOString();
    answerWith(
      { token: await tokenOf('first'), expirationTimestamp: soon },
      { token: await tokenOf('second'), expirationTimestamp: new Date(Date.now() + 3_600_000).toISOString() },
    );
    const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }));
    expect(await userOf(client)).toBe('system:serviceaccount:login:second');
    await client.close();
  });

  it('gives another token once the server has refused the first', async () => {
    // one that the server took before would be good for ten more seconds, which it remembers it for
    const ended = await tokenOf('third');
    await admin.delete(ACCOUNTS, { name: 'third', namespace: 'login' });
    answerWith({ token: ended }, { token: await tokenOf('fourth') });
    const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }));
    await expect(userOf(client)).rejects.toMatchObject({ code: 401 });
    expect(await userOf(client)).toBe('system:serviceaccount:login:fourth');
    await client.close();
  });
});

describe('an OIDC login', () => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  let issuer: Server;
  let address = '';
  let authority = '';
  const asked: string[] = [];

  // one for all, since a token that is made again must be the same
  const issuedAt = Math.floor(Date.now() / 1000);

  const token = (name: string, endsInMs: number): string => {
    const end = Math.floor((clock.now().getTime() + endsInMs) / 1000);
    const claims = { iss: address, sub: name, aud: 'kubernetes', iat: issuedAt, exp: end };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg: 'RS256' })}.${part(claims)}.${Buffer.from(name).toString('base64url')}`;
  };
  const YEARS = 50 * 365 * 86_400_000;

  beforeAll(async () => {
    const { key, certificate } = await selfSigned();
    authority = Buffer.from(certificate).toString('base64');
    issuer = createServer({ key, cert: certificate }, (request, response) => {
      response.setHeader('content-type', 'application/json');
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      request.on('end', () => {
        if (request.url === '/.well-known/openid-configuration')
          return response.end(
            JSON.stringify({
              issuer: address,
              token_endpoint: `${address}/token`,
              authorization_endpoint: address,
              jwks_uri: address,
              response_types_supported: ['code'],
              subject_types_supported: ['public'],
              id_token_signing_alg_values_supported: ['RS256'],
            }),
          );
        const form = new URLSearchParams(body);
        asked.push(form.get('refresh_token') ?? '');
        if (form.get('refresh_token') !== `refresh-${asked.length}`) {
          response.statusCode = 400;
          return response.end(JSON.stringify({ error: 'invalid_grant' }));
        }
        return response.end(
          JSON.stringify({
            access_token: 'a',
            token_type: 'bearer',
            expires_in: 3600,
            id_token: token('renewed', YEARS),
            refresh_token: `refresh-${asked.length + 1}`,
          }),
        );
      });
    }).listen(0, '127.0.0.1');
    await once(issuer, 'listening');
    address = `https://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    issuer.close();
    issuer.closeAllConnections();
  });

  function kubeconfig(name: string, idToken: string, refreshToken: string): string {
    const path = join(folder, name);
    writeFileSync(
      path,
      `# mine
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: "https://one"}}]
users:
- name: u
  user:
    auth-provider:
      name: oidc
      config:
        client-id: kubernetes
        idp-issuer-url: ${address}
        idp-certificate-authority-data: ${authority}
        id-token: ${idToken}
        refresh-token: ${refreshToken}
contexts: [{name: one, context: {cluster: c, user: u}}]
`,
      { mode: 0o600 },
    );
    return path;
  }

  it('presents a token that is good without asking its issuer', async () => {
    const good = token('good', 60_000);
    const path = kubeconfig('good', good, 'refresh-1');
    const { auth } = await loadKubeConnection({ kubeconfigPath: path, clock });
    expect(await auth.authorization()).toBe(`Bearer ${good}`);
    expect(asked).toEqual([]);
  });

  it('renews a token that has ended, once, and writes it into the kubeconfig', async () => {
    const path = kubeconfig('ended', token('old', -60_000), 'refresh-1');
    const { auth } = await loadKubeConnection({ kubeconfigPath: path, clock });
    const renewed = `Bearer ${token('renewed', YEARS)}`;
    expect(await Promise.all([auth.authorization(), auth.authorization()])).toEqual([renewed, renewed]);
    expect(asked).toEqual(['refresh-1']);
    const written = readFileSync(path, 'utf8');
    expect(written).toMatch(/^# mine\n/);
    expect(written).toContain('refresh-token: refresh-2');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await loadKubeConnection({ kubeconfigPath: path, clock });
    expect(await again.auth.authorization()).toBe(renewed);
    expect(asked).toHaveLength(1);
  });

  it('says that one must log in again, without a token in the words', async () => {
    const path = kubeconfig('refused', token('old', -60_000), 'secret-refresh');
    const { auth } = await loadKubeConnection({ kubeconfigPath: path, clock });
    await expect(auth.authorization()).rejects.toThrow(/^renewing the OIDC login at https:.*log in again$/);
    await expect(auth.authorization()).rejects.not.toThrow(/secret-refresh/);
  });
});
