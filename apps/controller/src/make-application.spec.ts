import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '#lib/config';
import { RESOURCES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { CONFIG } from './config.js';
import type { Surroundings } from './parts.js';
import { type Application, makeApplication } from './start-application.js';

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: admin, user: {token: t}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`;

/** Nothing that is made may be reached before the work starts, so nothing answers at these addresses. */
function surroundingsIn(folder: string): Surroundings {
  const kubeconfigPath = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, KUBECONFIG);
  const config = loadConfig(CONFIG, {
    KUBECONFIG: kubeconfigPath,
    AGENTPLANE_DATABASE_URI: 'postgres://user@127.0.0.1:9/none',
    AGENTPLANE_DATABASE_ADMIN_URI: 'postgres://user@127.0.0.1:9/none',
    AGENTPLANE_API_URL: 'http://127.0.0.1:9',
  });
  return { config, log: createLogger('test', 'silent'), clock: new FakeClock(), onLostLeadership: () => {} };
}

describe('makeApplication', () => {
  const folder = temporaryFolder();
  let made: Application;

  beforeAll(async () => {
    made = await makeApplication(surroundingsIn(folder));
  });
  afterAll(async () => {
    await made.parts.client.close();
    await made.parts.traceStore.close();
  });

  it('wires a controller for each kind and one each for schedules, webhooks, the archive, former credentials, unused images, pushes and the lake, before anything answers', () => {
    const kebab = (kind: string): string => kind.replace(/(?<!^)([A-Z])/g, '-$1').toLowerCase();
    const kinds = Object.keys(RESOURCES);
    expect(made.controllers.map(({ name }) => name).sort()).toEqual(
      [
        ...kinds.map(kebab),
        'export-archive',
        'export-schedule',
        'export-webhook',
        'former-credentials',
        'git-push',
        'lake',
        'unused-images',
      ].sort(),
    );
    expect(made.controllers.filter(({ sources }) => sources.length === 0)).toEqual([]);
  });

  it('lets exports pass one at a time', () => {
    const single = made.controllers.filter(({ concurrency }) => concurrency === 1).map(({ name }) => name);
    expect(single).toEqual(['bulk-export']);
  });
});
