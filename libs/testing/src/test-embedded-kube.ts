import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { inheritedEnvironment } from '#lib/config';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from './test-postgres.js';

/** An API server of tests. */
export interface TestEmbeddedKube {
  /** Kubeconfig of its administrator. */
  readonly kubeconfigPath: string;
  /** Stops it until `resume`: connections end, and new ones are refused. */
  interrupt(): Promise<void>;
  /** Starts it again at the same address, with all that it held. */
  resume(): Promise<void>;
}

/** Template of the databases of API servers: with the objects that every one has. */
async function prepareKube(uri: string): Promise<void> {
  const { createApiServer } = await import('#lib/embedded-kube');
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-embedded-kube-'));
  const log = createLogger('kube', 'silent');
  const server = createApiServer({ databaseUri: uri, port: 0, pkiFolder: folder, log });
  await server.start();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

/**
 * The embedded API server for the tests of a file or of a `describe`, with a kubeconfig file of its administrator. Up
 * in about a second; no controllers, no node.
 */
export function testEmbeddedKube(): TestEmbeddedKube {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-embedded-kube-'));
  const kubeconfigPath = join(folder, 'kubeconfig');
  const postgres = testPostgres();
  let server: { readonly port: number; stop(): Promise<void> } | undefined;
  let databaseUri = '';
  async function start(port: number): Promise<void> {
    // loaded here, so that tests without it do not pay for it
    const { createApiServer } = await import('#lib/embedded-kube');
    const { TEST_LOG } = inheritedEnvironment(['TEST_LOG']);
    const log = createLogger('kube', TEST_LOG ?? 'silent');
    const started = createApiServer({ databaseUri, port, pkiFolder: join(folder, 'pki'), log });
    server = started;
    await started.start();
    writeFileSync(kubeconfigPath, await started.adminKubeconfig(), { mode: 0o600 });
  }
  let port = 0;
  beforeAll(async () => {
    ({ uri: databaseUri } = await postgres.freshDatabase(prepareKube));
    await start(0);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    kubeconfigPath,
    async interrupt() {
      port = server?.port ?? 0;
      await server?.stop();
      server = undefined;
    },
    resume: () => start(port),
  };
}
