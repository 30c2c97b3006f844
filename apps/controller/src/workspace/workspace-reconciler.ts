import type { ExportLimits } from '#lib/export-plan';
import {
  addFinalizer,
  isAlreadyExists,
  isConflict,
  type KubeClient,
  removeFinalizer,
  StatusWriter,
} from '#lib/kube';
import {
  AGENT_POLICY,
  buildAgentPolicy,
  buildProgramBindings,
  CONTROLLER_SECRETS,
  type EgressRules,
  POD_SECURITY_LABEL,
  type PodSecurityLevel,
  podSecurityOf,
} from '#lib/manifests';
import { done, finalizerStep, observedGeneration, type Result, wait } from '#lib/reconcile';
import {
  type AgentDeployment,
  CONDITION,
  type ConditionDraft,
  FINALIZER,
  isDeleting,
  LABEL,
  MANAGED_BY,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  NETWORK_POLICIES,
  type ObjectKey,
  REASON,
  RESOURCES,
  ROLE_BINDINGS,
  type Workspace,
  workspaceNamespace,
  type WorkspaceStatus,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { limitsOf } from '../bulk-export/workspace-limits.js';
import type { Caches } from '../caches.js';
import { type ExportHistory, historyOf } from '../export-archive/decide-archive.js';
import { ensureId, isOlder } from '../identity/decide-id.js';
import { conditionsOf } from '../status-conditions.js';
import { namespaceRestText, remoteRestText, tenantRestText } from './deletion-words.js';

const HOUR_MS = 3_600_000;

/** Limits in effect for a workspace, as its status shows them. */
export function effectiveLimits(
  platform: { readonly limits: ExportLimits; readonly history: ExportHistory },
  workspace: Workspace,
): NonNullable<WorkspaceStatus['limits']> {
  const limits = limitsOf(platform.limits, workspace);
  return {
    concurrentExports: limits.concurrentExportsPerWorkspace,
    concurrentRunsPerExport: limits.concurrentRunsPerExport,
    exportHistoryHours: historyOf(platform.history, workspace).keptMs / HOUR_MS,
  };
}

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

type WorkspaceDecision =
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

/** The older workspace that has the tenant, whose rows are not this one's. */
function olderTwin({ metadata, spec }: Workspace, workspaces: readonly Workspace[]): Workspace | undefined {
  return workspaces.find(
    (other) =>
      other.metadata.uid !== metadata.uid &&
      other.spec.tenantId.toLowerCase() === spec.tenantId.toLowerCase() &&
      isOlder(other.metadata, metadata),
  );
}

/** Next step for a workspace. */
export function decideWorkspace(workspace: Workspace, world: WorkspaceWorld): WorkspaceDecision {
  const twin = olderTwin(workspace, world.workspaces);
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
function isOurs(namespace: Namespace, workspace: Workspace): boolean {
  const labels = namespace.metadata.labels ?? {};
  return Object.entries(namespaceLabels(workspace)).every(([label, value]) => labels[label] === value);
}

export type WorkspaceCaches = Pick<
  Caches,
  'workspaces' | 'namespaces' | 'defaultAccounts' | 'listeners' | 'deployments'
>;

const LOOK_AGAIN_MS = 2_000;
/** A remote listener that does not work any more must not hold a workspace. */
const REMOTE_PLACES_MS = 60_000;

export interface WorkspaceOptions {
  /** Namespace of the api's account. */
  readonly systemNamespace: string;
  /** Pod security level that namespaces of workspaces should enforce; undefined to leave them unchanged. */
  readonly podSecurity: PodSecurityLevel | undefined;
  /** Egress allowed to agents; undefined without a policy. */
  readonly agentEgress?: { readonly rules: EgressRules; readonly databasePort: number } | undefined;
  /** Limits of the platform. */
  readonly limits: ExportLimits;
  readonly history: ExportHistory;
}

/** Kinds whose finalizers read or delete Secrets. */
const NEED_SECRETS = [
  RESOURCES.AgentDeployment,
  RESOURCES.AgentRevision,
  RESOURCES.BulkExportDestination,
  RESOURCES.BulkExport,
  RESOURCES.BulkExportRun,
];

/** Part of the trace store that the deletion of a workspace needs. */
export type TenantStore = Pick<TraceStore, 'tenants'>;

/** Gives each Workspace its namespace, and deletes it with everything in it and all rows of its tenant. */
export class WorkspaceReconciler {
  readonly #caches: WorkspaceCaches;
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #status: StatusWriter;
  readonly #options: WorkspaceOptions;
  readonly #store: TenantStore;

  constructor(
    caches: WorkspaceCaches,
    client: KubeClient,
    clock: Clock,
    store: TenantStore,
    options: WorkspaceOptions,
  ) {
    this.#store = store;
    this.#caches = caches;
    this.#client = client;
    this.#clock = clock;
    this.#options = options;
    this.#status = new StatusWriter(client);
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.#caches.workspaces.find(key);
    if (!found) return done();
    const step = finalizerStep(found, FINALIZER.workspace);
    if (step === 'gone') return done();
    if (step === 'finalize') return await this.#finalize(found);
    const held = await addFinalizer(this.#client, RESOURCES.Workspace, found, FINALIZER.workspace);
    const workspace = await ensureId(this.#client, RESOURCES.Workspace, held, this.#caches.workspaces);
    const name = workspaceNamespace(workspace.metadata.name);
    const namespace = this.#caches.namespaces.find({ name });
    const decided = decideWorkspace(workspace, {
      namespace,
      hasDefaultAccount:
        this.#caches.defaultAccounts.find({ namespace: name, name: 'default' }) !== undefined,
      workspaces: this.#caches.workspaces.list(),
      podSecurity: this.#options.podSecurity,
    });
    const decision = decided.kind === 'enforce' ? await this.#enforce(decided) : decided;
    if (decision.kind === 'create-namespace') await this.#createNamespace(workspace, name);
    if (decision.kind === 'ready') await this.#boundAgents(name);
    // the access is granted before the ready status is reported: the api may store a Secret there at once
    if (decision.kind === 'ready') await this.#letProgramsIn(name);
    if (namespace && isDeleting(namespace)) await this.#leave(name);
    await this.#report(workspace, decision);
    // a refusal ends when the other object is deleted, which does not wake this one
    if (decision.kind === 'refuse') return wait(decision.reason, 30_000);
    return decision.kind === 'ready' ? done() : wait(REASON.pending, LOOK_AGAIN_MS);
  }

  async #createNamespace(workspace: Workspace, name: string): Promise<void> {
    try {
      await this.#client.create(NAMESPACES, { metadata: { name, labels: namespaceLabels(workspace) } });
    } catch (error) {
      // its owner will be seen in the cache
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** Sets the level, unless a person has set another, who keeps it: it is theirs by the manager of the label. */
  async #enforce({
    namespace: { metadata },
    podSecurity,
  }: Extract<WorkspaceDecision, { kind: 'enforce' }>): Promise<Settled> {
    const { name, uid } = metadata;
    const labels = { [POD_SECURITY_LABEL]: podSecurity };
    const desired = { metadata: { name, ...(uid === undefined ? {} : { uid }), labels } };
    try {
      await this.#caches.namespaces.seen(await this.#client.apply(NAMESPACES, desired, { force: false }));
      return { kind: 'ready' };
    } catch (error) {
      if (!isConflict(error)) throw error;
      const namespace = await this.#client.get(NAMESPACES, { name });
      return { kind: 'ready', keeps: podSecurityTextOf(namespace) };
    }
  }

  async #boundAgents(namespace: string): Promise<void> {
    const { agentEgress } = this.#options;
    if (agentEgress) {
      const policy = buildAgentPolicy(namespace, agentEgress.rules, agentEgress.databasePort);
      await this.#client.apply(NETWORK_POLICIES, policy, { force: true });
      return;
    }
    const former = await this.#client.find(NETWORK_POLICIES, { namespace, name: AGENT_POLICY });
    if (former?.metadata.labels?.[LABEL.managedBy] !== MANAGED_BY) return;
    await this.#client.delete(NETWORK_POLICIES, { namespace, name: AGENT_POLICY });
  }

  /** Secrets, and logs of pods, are within reach of the platform's programs in the namespaces of workspaces alone. */
  async #letProgramsIn(namespace: string): Promise<void> {
    for (const binding of buildProgramBindings(namespace, this.#options.systemNamespace)) {
      if (await this.#client.find(ROLE_BINDINGS, binding.metadata)) continue;
      try {
        await this.#client.create(ROLE_BINDINGS, binding);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
  }

  /**
   * Gives up the right to Secrets of a namespace that is being deleted. The namespace controller deletes the binding
   * at once, and finalizers of deployments and exports still read and delete Secrets: the last of them ends it.
   */
  async #leave(namespace: string): Promise<void> {
    for (const ref of NEED_SECRETS)
      if ((await this.#client.list<KubeObject>(ref, { namespace })).items.length > 0) return;
    const binding = await this.#client.find(ROLE_BINDINGS, { namespace, name: CONTROLLER_SECRETS });
    if (binding) await removeFinalizer(this.#client, ROLE_BINDINGS, binding, FINALIZER.workspace);
  }

  async #report(workspace: Workspace, decision: Settled): Promise<void> {
    const name = workspaceNamespace(workspace.metadata.name);
    const isHandled = decision.kind === 'ready' || decision.kind === 'refuse';
    const generation = observedGeneration(workspace, isHandled);
    const status: WorkspaceStatus = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(decision.kind === 'ready' ? { namespace: name } : {}),
      limits: effectiveLimits(this.#options, workspace),
      conditions: conditionsOf(
        workspace.status?.conditions,
        [namespaceCondition(decision, name)],
        { needs: [CONDITION.namespaceReady] },
        workspace.metadata.generation,
        this.#clock.now(),
      ),
    };
    const written = await this.#status.apply(RESOURCES.Workspace, workspace, status, ['namespace']);
    await this.#caches.workspaces.seen(written);
  }

  /**
   * Deletes the deployments of a workspace with a remote listener, and waits for them: the account with which the listener
   * says that it has cleared up ends with the namespace.
   * @returns those that are left; none after a minute
   */
  async #clearRemotePlaces({ metadata }: Workspace, namespace: string): Promise<readonly AgentDeployment[]> {
    if (!this.#caches.listeners.list(namespace).some(({ spec }) => spec.remote)) return [];
    const left = this.#caches.deployments.list(namespace);
    for (const one of left)
      if (!isDeleting(one)) await this.#client.delete(RESOURCES.AgentDeployment, one.metadata);
    const sinceMs = this.#clock.now().getTime() - Date.parse(metadata.deletionTimestamp ?? '');
    return sinceMs > REMOTE_PLACES_MS ? [] : left;
  }

  /** Reports what a deletion waits for. */
  async #await(workspace: Workspace, message: string): Promise<Result> {
    await this.#report(workspace, { kind: 'wait', reason: REASON.deleting, message });
    return wait(REASON.deleting, LOOK_AGAIN_MS);
  }

  /**
   * The namespace goes first: finalizers of what is in it still need the workspace's tenant, and nothing in it sends runs
   * any more. Then its rows of the trace store are removed, a part in each pass: what is left is read from the store each
   * time, so that any controller continues.
   */
  async #finalize(workspace: Workspace): Promise<Result> {
    const name = workspaceNamespace(workspace.metadata.name);
    const namespace = await this.#client.find(NAMESPACES, { name });
    if (namespace && isOurs(namespace, workspace)) {
      if (isDeleting(namespace)) {
        await this.#leave(name);
        return await this.#await(workspace, namespaceRestText(namespace));
      }
      const elsewhere = await this.#clearRemotePlaces(workspace, name);
      if (elsewhere.length > 0) return await this.#await(workspace, remoteRestText(name, elsewhere));
      await this.#client.delete(NAMESPACES, { name }, uidOf(namespace.metadata.uid));
      return await this.#await(workspace, namespaceRestText(namespace));
    }
    const { items: workspaces } = await this.#client.list(RESOURCES.Workspace);
    const rest = olderTwin(workspace, workspaces)
      ? undefined
      : await this.#store.tenants.remove(workspace.spec.tenantId.toLowerCase());
    if (rest) return await this.#await(workspace, tenantRestText(rest));
    await removeFinalizer(this.#client, RESOURCES.Workspace, workspace, FINALIZER.workspace);
    return done();
  }
}

function uidOf(uid: string | undefined): { readonly uid?: string } {
  return uid === undefined ? {} : { uid };
}

/** A decision after what could be done at once. */
type Settled =
  | Exclude<WorkspaceDecision, { kind: 'enforce' }>
  /** Ready, with the level that another writer than the platform set. */
  | { readonly kind: 'ready'; readonly keeps: string };

function podSecurityTextOf(namespace: Namespace): string {
  return `; the level of Pod Security is not the platform's to set there, and is ${podSecurityOf(namespace) ?? "the cluster's"}`;
}

function namespaceCondition(decision: Settled, name: string): ConditionDraft {
  const type = CONDITION.namespaceReady;
  switch (decision.kind) {
    case 'create-namespace':
      return {
        type,
        status: 'False',
        reason: REASON.namespaceMissing,
        message: `creating namespace ${name}`,
      };
    case 'refuse':
    case 'wait':
      return { type, status: 'False', reason: decision.reason, message: decision.message };
    case 'ready':
      return {
        type,
        status: 'True',
        reason: REASON.ready,
        message: `namespace ${name} exists${'keeps' in decision ? decision.keeps : ''}`,
      };
    default:
      return decision satisfies never;
  }
}
