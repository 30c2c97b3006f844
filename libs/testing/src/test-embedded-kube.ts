import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { inheritedEnvironment } from '#lib/config';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from './test-postgres.js';

/**
 * The embedded API server for the tests of a file or of a `describe`, with a kubeconfig file of its administrator. Up
 * in about a second; no controllers, no node.
 */
export function testEmbeddedKube(): { readonly kubeconfigPath: string } {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-embedded-kube-'));
  const kubeconfigPath = join(folder, 'kubeconfig');
  const postgres = testPostgres();
  let server: { stop(): Promise<void> } | undefined;
  beforeAll(async () => {
    // loaded here, so that tests without it do not pay for it
    const { createApiServer } = await import('#lib/embedded-kube');
    const { uri } = await postgres.freshDatabase();
    const { TEST_LOG } = inheritedEnvironment(['TEST_LOG']);
    const log = createLogger('kube', TEST_LOG ?? 'silent');
    const started = createApiServer({ databaseUri: uri, port: 0, pkiFolder: join(folder, 'pki'), log });
    server = started;
    await started.start();
    writeFileSync(kubeconfigPath, await started.adminKubeconfig(), { mode: 0o600 });
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { kubeconfigPath };
}
