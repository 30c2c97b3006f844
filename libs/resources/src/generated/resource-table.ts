// Generated from crds/ by `npm run generate`. Do not edit.
import type { ResourceRef } from '../resource-ref.js';
import type { AgentDeployment } from './agent-deployment.js';
import type { AgentRevision } from './agent-revision.js';
import type { BulkExportDestination } from './bulk-export-destination.js';
import type { BulkExportRun } from './bulk-export-run.js';
import type { BulkExport } from './bulk-export.js';
import type { Listener } from './listener.js';
import type { Workspace } from './workspace.js';

/** apiVersion of every kind of the platform. */
export const API_VERSION = 'agentplane.dev/v1alpha1';

/** Where each kind of the platform lives in the API, with the type of its objects. */
export const RESOURCES = {
  AgentDeployment: {
    group: 'agentplane.dev',
    version: 'v1alpha1',
    kind: 'AgentDeployment',
    plural: 'agentdeployments',
    namespaced: true,
  } as ResourceRef<AgentDeployment>,
  AgentRevision: {
    group: 'agentplane.dev',
    version: 'v1alpha1',
    kind: 'AgentRevision',
    plural: 'agentrevisions',
    namespaced: true,
  } as ResourceRef<AgentRevision>,
  BulkExportDestination: {
    group: 'agentplane.dev',
    version: 'v1alpha1',
    kind: 'BulkExportDestination',
    plural: 'bulkexportdestinations',
    namespaced: true,
  } as ResourceRef<BulkExportDestination>,
  BulkExportRun: {
    group: 'agentplane.dev',
    version: 'v1alpha1',
    kind: 'BulkExportRun',
    plural: 'bulkexportruns',
    namespaced: true,
  } as ResourceRef<BulkExportRun>,
  BulkExport: {
    group: 'agentplane.dev',
    version: 'v1alpha1',
    kind: 'BulkExport',
    plural: 'bulkexports',
    namespaced: true,
  } as ResourceRef<BulkExport>,
  Listener: {
    group: 'agentplane.dev',
    version: 'v1alpha1',
    kind: 'Listener',
    plural: 'listeners',
    namespaced: true,
  } as ResourceRef<Listener>,
  Workspace: {
    group: 'agentplane.dev',
    version: 'v1alpha1',
    kind: 'Workspace',
    plural: 'workspaces',
    namespaced: false,
  } as ResourceRef<Workspace>,
} as const;
