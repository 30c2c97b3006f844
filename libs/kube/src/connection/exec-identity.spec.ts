import { describe, expect, it } from '@jest/globals';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { loadKubeConnection } from './load-kube-connection.js';

const VERSION = 'client.authentication.k8s.io/v1';

describe('a kubeconfig with an exec plugin', () => {
  const folder = temporaryFolder();
  let count = 0;

  /** Writes a plugin (a shell script) and a kubeconfig that names it. */
  function kubeconfig(script: string, more = '', command?: string): string {
    const name = `plugin-${++count}.sh`;
    const plugin = join(folder, name);
    writeFileSync(plugin, `#!/bin/sh\n${script}\n`);
    chmodSync(plugin, 0o700);
    const path = join(folder, `config-${count}`);
    writeFileSync(
      path,
      `
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: "https://one", tls-server-name: inner}}]
users: [{name: u, user: {exec: {apiVersion: ${VERSION}, command: ${command ?? `./${name}`}, interactiveMode: Never${more}}}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
`,
    );
    return path;
  }

  function credential(status: object): string {
    return `echo '${JSON.stringify({ apiVersion: VERSION, kind: 'ExecCredential', status })}'`;
  }

  it('asks the plugin beside it for its token', async () => {
    const connection = await loadKubeConnection({
      kubeconfigPath: kubeconfig(credential({ token: 'from-plugin' })),
    });
    expect(await connection.auth.authorization()).toBe('Bearer from-plugin');
    expect(connection.server).toBe('https://one');
  });

  it('presents the certificate that the plugin gives', async () => {
    const connection = await loadKubeConnection({
      kubeconfigPath: kubeconfig(credential({ clientCertificateData: 'CERT', clientKeyData: 'KEY' })),
    });
    expect(connection).toMatchObject({ clientCertificate: 'CERT', clientKey: 'KEY' });
    expect(await connection.auth.authorization()).toBeUndefined();
  });

  it('describes the cluster to a plugin that asks for it', async () => {
    const seen = join(folder, 'seen');
    const script = `printf '%s|%s|%s' "$1" "$REGION" "$KUBERNETES_EXEC_INFO" > ${seen}\n${credential({ token: 't' })}`;
    const more = ', args: [get-token], env: [{name: REGION, value: north}], provideClusterInfo: true';
    await loadKubeConnection({ kubeconfigPath: kubeconfig(script, more) });
    const [argument, region, info] = readFileSync(seen, 'utf8').split('|');
    expect([argument, region]).toEqual(['get-token', 'north']);
    expect(JSON.parse(info ?? '')).toEqual({
      apiVersion: VERSION,
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: 'https://one', 'tls-server-name': 'inner' } },
    });
  });

  it('asks again when the token has ended, and not before', async () => {
    const clock = new FakeClock();
    const expirationTimestamp = new Date(clock.now().getTime() + 60_000).toISOString();
    const calls = join(folder, 'calls');
    const path = kubeconfig(`echo x >> ${calls}\n${credential({ token: 't', expirationTimestamp })}`);
    const { auth } = await loadKubeConnection({ kubeconfigPath: path, clock });
    const asked = () => readFileSync(calls, 'utf8').length / 2;
    await auth.authorization();
    expect(asked()).toBe(1);
    await clock.advance(61_000);
    await auth.authorization();
    expect(asked()).toBe(2);
  });

  it.each([
    ['exits with an error', 'echo "log in first" >&2; exit 1', undefined, /log in first/],
    ['prints something else', 'echo secret-token', undefined, /printed no JSON/],
    ['gives nothing', credential({}), undefined, /neither a token nor a certificate/],
    ['is not installed', '', 'no-such-plugin', /not installed/],
  ])('fails in words when the plugin %s', async (_case, script, command, words) => {
    await expect(loadKubeConnection({ kubeconfigPath: kubeconfig(script, '', command) })).rejects.toThrow(
      words,
    );
  });
});
