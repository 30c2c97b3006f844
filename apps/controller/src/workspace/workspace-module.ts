import { Module } from '@nestjs/common';
import {
  type ControllerSpec,
  passSubject,
  fromMapped,
  fromObjects,
  isDesiredChange,
  KubeClient,
} from '#lib/kube';
import { LABEL, type Namespace, type ObjectKey, RESOURCES, type ServiceAccount } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import { type ControllerConfig, exportHistory, exportLimits } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG } from '../core/tokens.js';
import { WorkspaceReconciler } from './workspace-reconciler.js';

const POSTGRES_PORT = 5432;

export const WORKSPACE_CONTROLLER = Symbol('controller of Workspaces');

function workspaceController(reconciler: WorkspaceReconciler, caches: Caches): ControllerSpec {
  return {
    name: 'workspace',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.Workspace, caches.workspaces),
    sources: [
      fromObjects(caches.workspaces, isDesiredChange),
      fromMapped(caches.namespaces, ofNamespace),
      fromMapped(caches.defaultAccounts, ofAccount),
    ],
  };
}

function ofNamespace({ metadata }: Namespace): readonly ObjectKey[] {
  const name = metadata.labels?.[LABEL.workspace];
  return name === undefined ? [] : [{ name }];
}

function ofAccount({ metadata: { namespace = '' } }: ServiceAccount): readonly ObjectKey[] {
  return namespace.startsWith('ws-') ? [{ name: namespace.slice(3) }] : [];
}

/** Reconciles Workspaces: a namespace and a listener for each. */
@Module({
  providers: [
    {
      provide: WorkspaceReconciler,
      inject: [CACHES, KubeClient, CLOCK, CONTROLLER_CONFIG],
      useFactory: (caches: Caches, client: KubeClient, clock: Clock, config: ControllerConfig) => {
        const { systemNamespace, podSecurity, agentEgress } = config;
        const [limits, history] = [exportLimits(config), exportHistory(config)];
        return new WorkspaceReconciler(caches, client, clock, {
          systemNamespace,
          podSecurity,
          limits,
          history,
          agentEgress: agentEgress && {
            rules: agentEgress,
            databasePort: Number(new URL(config.databaseAdminUri).port) || POSTGRES_PORT,
          },
        });
      },
    },
    {
      provide: WORKSPACE_CONTROLLER,
      inject: [WorkspaceReconciler, CACHES],
      useFactory: workspaceController,
    },
  ],
  exports: [WORKSPACE_CONTROLLER],
})
export class WorkspaceModule {}
