import {
  isDeleting,
  LABEL,
  MANAGED_BY,
  type Namespace,
  REASON,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import { type PodSecurityLevel, podSecurityOf } from '#lib/manifests';
import { isOlder } from '../identity/decide-id.js';

/** Objects on which a workspace depends. */
export interface WorkspaceWorld {
  readonly namespace: Namespace | undefined;
  /** True when the namespace's account `default` exists: no pod can be made before. */
  readonly hasDefaultAccount: boolean;
  /** Every workspace. */
  readonly workspaces: readonly Workspace[];
  /** The level of Pod Security that namespaces of workspaces should enforce; undefined to leave them as they are. */
  readonly podSecurity: PodSecurityLevel | undefined;
}

export type WorkspaceDecision =
  | { readonly kind: 'create-namespace' }
  | { readonly kind: 'refuse'; readonly reason: string; readonly message: string }
  | { readonly kind: 'wait'; readonly reason: string; readonly message: string }
  /** Its namespace enforces another level of Pod Security, or none. */
  | { readonly kind: 'enforce'; readonly namespace: Namespace; readonly podSecurity: PodSecurityLevel }
  | { readonly kind: 'ready' };

/** Labels of a workspace's namespace; by them it is known to be ours. */
export function namespaceLabels({ metadata, spec }: Workspace): Readonly<Record<string, string>> {
  return {
    [LABEL.workspace]: metadata.name,
    [LABEL.tenant]: spec.tenantId,
    [LABEL.managedBy]: MANAGED_BY,
  };
}

/** Next step for a workspace. */
export function decideWorkspace(workspace: Workspace, world: WorkspaceWorld): WorkspaceDecision {
  const twin = world.workspaces.find(
    (other) =>
      other.metadata.uid !== workspace.metadata.uid &&
      other.spec.tenantId.toLowerCase() === workspace.spec.tenantId.toLowerCase() &&
      isOlder(other.metadata, workspace.metadata),
  );
  if (twin)
    return {
      kind: 'refuse',
      reason: REASON.tenantTaken,
      message: `tenant id ${workspace.spec.tenantId} is used by the older workspace ${twin.metadata.name}; choose another`,
    };
  const name = workspaceNamespace(workspace.metadata.name);
  const { namespace } = world;
  if (!namespace) return { kind: 'create-namespace' };
  if (!isOurs(namespace, workspace))
    return {
      kind: 'refuse',
      reason: REASON.namespaceTaken,
      message: `namespace ${name} exists and belongs to another owner; rename the workspace or delete the namespace`,
    };
  if (isDeleting(namespace))
    return { kind: 'wait', reason: REASON.namespaceMissing, message: `namespace ${name} is being deleted` };
  if (!world.hasDefaultAccount)
    return {
      kind: 'wait',
      reason: REASON.serviceAccountMissing,
      message: `namespace ${name} has no service account default yet`,
    };
  const { podSecurity } = world;
  if (podSecurity !== undefined && podSecurityOf(namespace) !== podSecurity)
    return { kind: 'enforce', namespace, podSecurity };
  return { kind: 'ready' };
}

/** True when the namespace was made for this workspace. */
export function isOurs(namespace: Namespace, workspace: Workspace): boolean {
  const labels = namespace.metadata.labels ?? {};
  return Object.entries(namespaceLabels(workspace)).every(([label, value]) => labels[label] === value);
}
