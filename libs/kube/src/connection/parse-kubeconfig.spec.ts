import { describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { loadKubeConnection } from './load-kube-connection.js';

const CONFIG = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: "https://one:6443/", certificate-authority: ca.pem}}
- {name: c3, cluster: {server: "https://three", proxy-url: "http://proxy"}}
- {name: c2, cluster: {server: "https://two", certificate-authority-data: ${Buffer.from('CA2').toString('base64')}, tls-server-name: kubernetes}}
users:
- {name: u1, user: {token: secret}}
- {name: u2, user: {client-certificate-data: ${Buffer.from('CERT').toString('base64')}, client-key-data: ${Buffer.from('KEY').toString('base64')}}}
- {name: u3, user: {tokenFile: token}}
- {name: u4, user: {token: secret, as: someone}}
- {name: u5, user: {auth-provider: {name: gcp}}}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: work}}
- {name: two, context: {cluster: c2, user: u2}}
- {name: three, context: {cluster: c2, user: u3}}
- {name: four, context: {cluster: missing, user: u3}}
- {name: five, context: {cluster: c3, user: u4}}
- {name: six, context: {cluster: c2, user: u5}}
`;

describe('loadKubeConnection', () => {
  const folder = temporaryFolder();
  const kubeconfigPath = join(folder, 'config');
  writeFileSync(kubeconfigPath, CONFIG);
  writeFileSync(join(folder, 'ca.pem'), 'CA1');
  writeFileSync(join(folder, 'token'), 'first\n');

  it('reads the current context, files beside it included', async () => {
    const connection = await loadKubeConnection({ kubeconfigPath });
    expect(connection).toMatchObject({ server: 'https://one:6443', ca: 'CA1', namespace: 'work' });
    expect(await connection.auth.authorization()).toBe('Bearer secret');
  });

  it('reads a named context with inline certificates', async () => {
    const connection = await loadKubeConnection({ kubeconfigPath, context: 'two' });
    expect(connection).toMatchObject({
      server: 'https://two',
      ca: 'CA2',
      tlsServerName: 'kubernetes',
      clientCertificate: 'CERT',
      clientKey: 'KEY',
      namespace: 'default',
    });
    expect(await connection.auth.authorization()).toBeUndefined();
  });

  it('names a kubeconfig that is missing or malformed, without its content', async () => {
    await expect(loadKubeConnection({ kubeconfigPath: join(folder, 'nowhere') })).rejects.toThrow(
      `the kubeconfig ${join(folder, 'nowhere')} does not exist`,
    );
    const broken = join(folder, 'broken');
    writeFileSync(broken, 'token: [secret\n: :');
    await expect(loadKubeConnection({ kubeconfigPath: broken })).rejects.toThrow(
      new Error(`reading kubeconfig ${broken} failed: it is not YAML`),
    );
  });

  it('reads a token file again after a minute', async () => {
    const clock = new FakeClock();
    const { auth } = await loadKubeConnection({ kubeconfigPath, context: 'three', clock });
    expect(await auth.authorization()).toBe('Bearer first');
    writeFileSync(join(folder, 'token'), 'second\n');
    expect(await auth.authorization()).toBe('Bearer first');
    await clock.advance(60_000);
    expect(await auth.authorization()).toBe('Bearer second');
  });

  it.each([
    ['a context that is not there', { kubeconfigPath, context: 'none' }, 'has no context "none"'],
    ['a context without a cluster', { kubeconfigPath, context: 'four' }, 'names no server'],
    ['a proxy and another user', { kubeconfigPath, context: 'five' }, 'has proxy-url and as in context five'],
    ['a provider that kubectl has dropped', { kubeconfigPath, context: 'six' }, 'gke-gcloud-auth-plugin'],
    [
      'neither a kubeconfig nor a service account',
      { serviceAccountFolder: join(folder, 'nothing') },
      'no service account is mounted',
    ],
  ])('refuses %s', async (_name, options, message) => {
    await expect(loadKubeConnection(options)).rejects.toThrow(message);
  });

  it('reads the files that a cluster mounts into its pods', async () => {
    writeFileSync(join(folder, 'ca.crt'), 'CA3');
    writeFileSync(join(folder, 'namespace'), 'mine\n');
    const connection = await loadKubeConnection({ serviceAccountFolder: folder, clock: new FakeClock() });
    expect(connection).toMatchObject({
      server: 'https://kubernetes.default.svc',
      ca: 'CA3',
      namespace: 'mine',
    });
  });
});
