import { removeFinalizer } from '#lib/kube';
import { done, type Result, wait } from '#lib/reconcile';
import {
  type AgentDeployment,
  FINALIZER,
  isDeleting,
  REASON,
  RESOURCES,
  type Workspace,
} from '#lib/resources';
import { forgetRevisions } from './forget-revisions.js';
import { listRevisions } from './list-revisions.js';
import type { DeploymentTools } from './deployment-tools.js';

const DELETING_MS = 1_000;

/**
 * Ends a deployment: its pods first, then the things that they use, since an agent without its database would
 * only report errors. Revisions are listed from the server: one that no cache shows yet would lose its
 * database under its pods. They are not archived, and archived ones are dropped: they belong to the
 * deployment.
 * @param id the deployment's own, by which its database is named
 */
export async function finalizeDeployment(
  { client, provisioning, archiver }: Pick<DeploymentTools, 'client' | 'provisioning' | 'archiver'>,
  deployment: AgentDeployment,
  { id, workspace }: { readonly id: string; readonly workspace: Workspace | undefined },
): Promise<Result> {
  const revisions = await listRevisions(client, deployment);
  const present = revisions.filter((revision) => !isDeleting(revision));
  await forgetRevisions(client, present, 'Foreground');
  if (revisions.length > 0) return wait(REASON.deleting, DELETING_MS);
  if (workspace) await archiver.forget(id, workspace.spec.tenantId);
  await provisioning.release(deployment, id, workspace?.spec.tenantId);
  await removeFinalizer(client, RESOURCES.AgentDeployment, deployment, FINALIZER.deployment);
  return done();
}
