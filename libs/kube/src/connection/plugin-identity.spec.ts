import { describe, expect, it } from '@jest/globals';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { loadKubeConnection } from './load-kube-connection.js';

describe('a kubeconfig with an exec plugin', () => {
  const folder = temporaryFolder();

  it('asks the plugin for its token', async () => {
    const plugin = join(folder, 'plugin.sh');
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'from-plugin' },
    };
    writeFileSync(plugin, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`);
    chmodSync(plugin, 0o700);
    const kubeconfigPath = join(folder, 'config');
    writeFileSync(
      kubeconfigPath,
      `
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: "https://one"}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ${plugin}, interactiveMode: Never}}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
`,
    );
    const connection = await loadKubeConnection({ kubeconfigPath });
    expect(await connection.auth.authorization()).toBe('Bearer from-plugin');
    expect(connection.server).toBe('https://one');
  });
});
