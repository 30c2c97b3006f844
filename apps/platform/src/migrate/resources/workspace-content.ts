import type { KubeClient } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  type BulkExport,
  type BulkExportDestination,
  isDeleting,
  type KubeObject,
  type Listener,
  type ResourceRef,
  RESOURCES,
  type Secret,
  SECRETS,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';

/** A workspace with the content of its namespace. */
export interface WorkspaceContent {
  readonly workspace: Workspace;
  readonly secrets: readonly Secret[];
  readonly listeners: readonly Listener[];
  readonly destinations: readonly BulkExportDestination[];
  readonly deployments: readonly AgentDeployment[];
  readonly revisions: readonly AgentRevision[];
  readonly exports: readonly BulkExport[];
}

/** Reads a workspace; what is being deleted is left out. */
export async function readWorkspace(client: KubeClient, workspace: Workspace): Promise<WorkspaceContent> {
  const namespace = workspaceNamespace(workspace.metadata.name);
  const list = async <T extends KubeObject>(ref: ResourceRef<T>): Promise<readonly T[]> =>
    (await client.list(ref, { namespace })).items.filter((object) => !isDeleting(object));
  const [secrets, listeners, destinations, deployments, revisions, exports] = await Promise.all([
    list(SECRETS),
    list(RESOURCES.Listener),
    list(RESOURCES.BulkExportDestination),
    list(RESOURCES.AgentDeployment),
    list(RESOURCES.AgentRevision),
    list(RESOURCES.BulkExport),
  ]);
  return { workspace, secrets, listeners, destinations, deployments, revisions, exports };
}
