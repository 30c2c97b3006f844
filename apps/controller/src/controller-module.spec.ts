import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { loadConfig } from '#lib/config';
import { type ControllerSpec, KubeClient } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder } from '#lib/testing';
import {
  AGENT_DEPLOYMENT_CONTROLLER,
  AgentDeploymentModule,
} from './agent-deployment/agent-deployment-module.js';
import { AGENT_REVISION_CONTROLLER, AgentRevisionModule } from './agent-revision/agent-revision-module.js';
import {
  BULK_EXPORT_DESTINATION_CONTROLLER,
  BulkExportDestinationModule,
} from './bulk-export-destination/bulk-export-destination-module.js';
import { BULK_EXPORT_RUN_CONTROLLER, BulkExportRunModule } from './bulk-export-run/bulk-export-run-module.js';
import { BULK_EXPORT_CONTROLLER, BulkExportModule } from './bulk-export/bulk-export-module.js';
import { CONFIG } from './config.js';
import { ALL_CONTROLLERS, ControllerModule } from './controller-module.js';
import { CoreModule, type Surroundings } from './core/core-module.js';
import { TRACE_STORE } from './core/tokens.js';
import { EXPORT_ARCHIVE_CONTROLLER, ExportArchiveModule } from './export-archive/export-archive-module.js';
import {
  EXPORT_SCHEDULE_CONTROLLER,
  ExportScheduleModule,
} from './export-schedule/export-schedule-module.js';
import { LISTENER_CONTROLLER, ListenerModule } from './listener/listener-module.js';
import { WORKSPACE_CONTROLLER, WorkspaceModule } from './workspace/workspace-module.js';

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: admin, user: {token: t}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
`;

/** Nothing that Nest makes may be reached before the work starts, so nothing answers at these addresses. */
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

async function release(module: TestingModule): Promise<void> {
  await module.get(KubeClient, { strict: false }).close();
  await module.get<{ close(): Promise<void> }>(TRACE_STORE, { strict: false }).close();
  await module.close();
}

describe('ControllerModule', () => {
  const folder = temporaryFolder();
  let module: TestingModule;

  beforeAll(async () => {
    module = await Test.createTestingModule({
      imports: [ControllerModule.with(surroundingsIn(folder))],
    }).compile();
  });
  afterAll(() => release(module));

  it('wires a controller for each kind and one each for schedules, webhooks, the archive, former credentials, unused images and pushes, before anything answers', () => {
    const kebab = (kind: string): string => kind.replace(/(?<!^)([A-Z])/g, '-$1').toLowerCase();
    const kinds = Object.keys(RESOURCES);
    const controllers = module.get<readonly ControllerSpec[]>(ALL_CONTROLLERS);
    expect(controllers.map(({ name }) => name).sort()).toEqual(
      [
        ...kinds.map(kebab),
        'export-archive',
        'export-schedule',
        'export-webhook',
        'former-credentials',
        'git-push',
        'unused-images',
      ].sort(),
    );
  });

  it('lets exports pass one at a time', () => {
    const controllers = module.get<readonly ControllerSpec[]>(ALL_CONTROLLERS);
    const single = controllers.filter(({ concurrency }) => concurrency === 1).map(({ name }) => name);
    expect(single).toEqual(['bulk-export']);
  });
});

describe('module of a kind', () => {
  const folder = temporaryFolder();

  it.each([
    ['WorkspaceModule', WorkspaceModule, WORKSPACE_CONTROLLER],
    ['ListenerModule', ListenerModule, LISTENER_CONTROLLER],
    ['AgentDeploymentModule', AgentDeploymentModule, AGENT_DEPLOYMENT_CONTROLLER],
    ['AgentRevisionModule', AgentRevisionModule, AGENT_REVISION_CONTROLLER],
    ['BulkExportDestinationModule', BulkExportDestinationModule, BULK_EXPORT_DESTINATION_CONTROLLER],
    ['BulkExportModule', BulkExportModule, BULK_EXPORT_CONTROLLER],
    ['BulkExportRunModule', BulkExportRunModule, BULK_EXPORT_RUN_CONTROLLER],
    ['ExportArchiveModule', ExportArchiveModule, EXPORT_ARCHIVE_CONTROLLER],
    ['ExportScheduleModule', ExportScheduleModule, EXPORT_SCHEDULE_CONTROLLER],
  ])('needs no module but the core: %s', async (_name, kind, controller) => {
    const module = await Test.createTestingModule({
      imports: [CoreModule.with(surroundingsIn(folder)), kind],
    }).compile();
    expect(module.get<ControllerSpec>(controller, { strict: false }).sources).not.toHaveLength(0);
    await release(module);
  });
});
