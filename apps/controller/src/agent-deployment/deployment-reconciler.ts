import { unless } from '#lib/errors';
import {
  addFinalizer,
  applyManaged,
  type EventRecorder,
  isAlreadyExists,
  isConflict,
  type KubeClient,
  removeFinalizer,
  StatusWriter,
} from '#lib/kube';
import { type AgentDefaults, type AgentVolume, buildRevisionEnvSecret } from '#lib/manifests';
import { postgresTrouble, sqlState } from '#lib/postgres';
import { after, done, finalizerStep, type Result, wait } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentDeploymentStatus,
  type AgentRevision,
  CONDITION,
  EVENT,
  FINALIZER,
  findCondition,
  isDeleting,
  keyOf,
  type ObjectKey,
  REASON,
  RESOURCES,
  SECRETS,
  setCondition,
  type Workspace,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { workspaceOf } from '../caches.js';
import { ensureId, ownId } from '../identity/decide-id.js';
import { pacedLook } from '../paced-look.js';
import { listRevisions } from './decide-revision.js';
import { decideDeployment, type DeploymentDecision } from './decide.js';
import { makeRevision } from './make-revision.js';
import { type DeploymentCaches, type DeploymentWorld, observeDeployment, type Variables } from './observe.js';
import type { DeploymentProvisioning } from './provision.js';
import { requireOwned } from './require-owned.js';
import type { RevisionArchiver } from './revision-archiver.js';
import { type Outcome, summarizeDeployment } from './summarize.js';

/** Dependencies of the reconciler. */
export interface DeploymentTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly provisioning: DeploymentProvisioning;
  readonly archiver: Pick<RevisionArchiver, 'store' | 'forget'>;
  /** Names of Secrets with logins of registries, which nodes use to pull images. */
  readonly registrySecrets: readonly string[];
  /** Kinds of volumes that agents may have beside those that need no storage. */
  readonly agentVolumes: readonly AgentVolume[];
  /** Placement and memory limit of pods of agents, unless a resource spec or the Workspace sets them. */
  readonly agentDefaults: AgentDefaults;
}

/** Deletes revisions; never one that was made since under the same name. */
async function forgetRevisions(
  client: KubeClient,
  revisions: readonly AgentRevision[],
  propagation: 'Background' | 'Foreground' = 'Background',
): Promise<void> {
  for (const revision of revisions) {
    const { uid } = revision.metadata;
    await client.delete(RESOURCES.AgentRevision, keyOf(revision), {
      propagation,
      ...(uid === undefined ? {} : { uid }),
    });
  }
}

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

const RETRY_MS = 60_000;

/**
 * Stores revisions in the archive and deletes them afterwards. A database that stores nothing keeps them where they are:
 * that is reported by an event, and holds up nothing else of the deployment.
 */
export async function archiveRevisions(
  { client, archiver, events }: Pick<DeploymentTools, 'client' | 'archiver' | 'events'>,
  deployment: AgentDeployment,
  {
    revisions,
    tenantId,
  }: Pick<Extract<DeploymentDecision, { kind: 'archive-revisions' }>, 'revisions' | 'tenantId'>,
): Promise<Outcome> {
  try {
    await archiver.store(deployment, revisions, tenantId);
  } catch (error) {
    const isUnavailable = postgresTrouble(error) === 'unavailable';
    const state = sqlState(error);
    if (!isUnavailable && state === undefined) throw error;
    const trouble = isUnavailable ? 'database unavailable' : `the database refused it (SQLSTATE ${state})`;
    events.record(RESOURCES.AgentDeployment, deployment, {
      type: 'Warning',
      reason: EVENT.archivingFailed,
      message: `archiving revisions past revisionHistoryLimit failed: ${trouble}; they stay, retrying every minute`,
    });
    return { kind: 'done', retryMs: RETRY_MS };
  }
  await forgetRevisions(client, revisions);
  return { kind: 'done' };
}

/** Writes the immutable Secret with the variables of a revision. One that an interrupted pass wrote stays. */
async function storeVariables(
  client: KubeClient,
  deployment: AgentDeployment,
  revision: AgentRevision,
  variables: Variables,
): Promise<void> {
  const desired = buildRevisionEnvSecret(deployment, revision.metadata.name, variables);
  const key = { namespace: revision.metadata.namespace ?? '', name: desired.metadata.name };
  const existing = await client.find(SECRETS, key);
  if (existing && requireOwned(existing, revision)) return;
  const owner = { kind: 'reference', ref: RESOURCES.AgentRevision, object: revision } as const;
  const managed = { ref: SECRETS, desired, existing: undefined };
  await applyManaged(client, owner, managed).catch(unless(isAlreadyExists));
}

/** Reports on the revision that its variables are stored: what comes next waits for that. */
async function reportVariables(
  status: StatusWriter,
  revision: AgentRevision,
  now: Date,
): Promise<AgentRevision> {
  const condition = {
    type: CONDITION.variablesReady,
    status: 'True',
    reason: REASON.variablesStored,
    message: `Secret ${revision.spec.envSecretName} holds the variables`,
    observedGeneration: revision.metadata.generation ?? 1,
  } as const;
  return await status.apply(RESOURCES.AgentRevision, revision, {
    conditions: setCondition([], condition, now),
  });
}

/** Condition types of this reconciler. Other reconcilers write conditions of their own into the same list. */
const CONDITIONS = [
  CONDITION.tracingProjectReady,
  CONDITION.databaseReady,
  CONDITION.revisionReady,
  CONDITION.rolledBack,
  CONDITION.fieldsIgnored,
  CONDITION.ready,
];

/** Optional fields of the status that must go when they have no value. */
const OWNED: readonly (keyof AgentDeploymentStatus)[] = [
  'activeRevisionId',
  'activeRevisionName',
  'customHost',
  'databaseConnections',
  'imageVersion',
  'latestRevisionId',
  'latestRevisionName',
  'url',
];

/**
 * AgentDeployment: tracing project, platform key and database first, then a revision whenever something that makes one
 * changed, then its variables. The builder finds out its image, the listener runs it; this one reads how far they are.
 *
 * get → gone → deleting → finalizer → id → observe → decide (suspended included) → act → report. One action in a pass.
 */
export class DeploymentReconciler {
  readonly #status: StatusWriter;
  readonly #revisionStatus: StatusWriter;

  constructor(
    private readonly caches: DeploymentCaches,
    private readonly tools: DeploymentTools,
  ) {
    this.#status = new StatusWriter(tools.client, { conditionTypes: CONDITIONS });
    this.#revisionStatus = new StatusWriter(tools.client, { conditionTypes: [CONDITION.variablesReady] });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { client } = this.tools;
    const found = this.caches.deployments.find(key);
    if (!found) return done();
    const step = finalizerStep(found, FINALIZER.deployment);
    if (step === 'gone') return done();
    if (step === 'finalize') {
      const workspace = workspaceOf(this.caches.workspaces, found.metadata.namespace);
      const id = ownId(found, this.caches.deployments.list());
      return await finalizeDeployment(this.tools, found, { id, workspace });
    }
    const held = await addFinalizer(client, RESOURCES.AgentDeployment, found, FINALIZER.deployment);
    const deployment = await ensureId(client, RESOURCES.AgentDeployment, held, this.caches.deployments);
    const world = await observeDeployment(this.tools, this.caches, deployment);
    const decision = decideDeployment(world);
    let outcome: Outcome;
    try {
      outcome = await this.#act(world, decision);
      await this.#report(world, decision, outcome);
    } catch (error) {
      // another writer was first, perhaps this controller before its cache saw that: the next pass sees more
      if (!isConflict(error) && !isAlreadyExists(error))
        await this.#report(world, decision, { kind: 'failed', error });
      throw error;
    }
    const retryMs = outcome.kind === 'done' ? outcome.retryMs : undefined;
    return retryMs === undefined ? resultOf(decision, this.caches.deployments.list().length) : after(retryMs);
  }

  async #act({ deployment, defaults }: DeploymentWorld, decision: DeploymentDecision): Promise<Outcome> {
    const { client, provisioning, events, clock } = this.tools;
    switch (decision.kind) {
      case 'ensure-project':
        return { kind: 'done', projectId: await provisioning.ensureProject(deployment, decision.tenantId) };
      case 'ensure-key-and-database':
        await provisioning.ensurePlatformKey(deployment, decision.tenantId);
        await provisioning.ensureDatabase(deployment, decision.tenantId, decision.mayHaveServer);
        break;
      case 'mark-pods':
        await this.caches.deployments.seen(await provisioning.markPods(deployment, decision.mark));
        events.record(RESOURCES.AgentDeployment, deployment, {
          type: 'Normal',
          reason: EVENT.databaseAddressChanged,
          message: 'the URI of the database changed; replacing pods that have the former one',
        });
        break;
      case 'make-revision': {
        const made = await makeRevision(client, deployment, decision, defaults);
        await this.caches.revisions.seen(made);
        const message = `created revision ${made.metadata.name}`;
        events.record(RESOURCES.AgentDeployment, deployment, {
          type: 'Normal',
          reason: EVENT.revisionCreated,
          message,
        });
        break;
      }
      case 'store-variables': {
        const { revision, variables } = decision;
        await storeVariables(client, deployment, revision, variables);
        await this.caches.revisions.seen(await reportVariables(this.#revisionStatus, revision, clock.now()));
        break;
      }
      case 'reject-request': {
        const { reason, message } = decision;
        events.record(RESOURCES.AgentDeployment, deployment, { type: 'Warning', reason, message });
        break;
      }
      case 'archive-revisions':
        return await archiveRevisions(this.tools, deployment, decision);
      case 'settled': {
        const { login } = decision;
        if (login) await provisioning.ensureDatabase(deployment, login.tenantId, login.mayHaveServer);
        break;
      }
      case 'refuse':
        break;
      default:
        decision satisfies never;
    }
    return { kind: 'done' };
  }

  async #report(world: DeploymentWorld, decision: DeploymentDecision, outcome: Outcome): Promise<void> {
    const status = summarizeDeployment(world, decision, outcome, this.tools.clock.now());
    this.#warnOfIgnored(world.deployment, status);
    this.#warnOfRefusal(world.deployment, decision);
    const written = await this.#status.apply(RESOURCES.AgentDeployment, world.deployment, status, OWNED);
    await this.caches.deployments.seen(written);
  }

  /** Once for each set of fields, before the status has it. */
  #warnOfIgnored(deployment: AgentDeployment, next: AgentDeploymentStatus): void {
    const [before, now] = [deployment.status, next].map(
      (status) => findCondition(status?.conditions, CONDITION.fieldsIgnored)?.message,
    );
    if (now === undefined || now === before) return;
    const reason = EVENT.fieldsIgnored;
    this.tools.events.record(RESOURCES.AgentDeployment, deployment, {
      type: 'Warning',
      reason,
      message: now,
    });
  }

  /** Once for each refusal, before the status has it. */
  #warnOfRefusal(deployment: AgentDeployment, decision: DeploymentDecision): void {
    if (decision.kind !== 'refuse') return;
    const { type, reason, message } = decision.refusal;
    const before = findCondition(deployment.status?.conditions, type);
    if (before?.reason === reason && before.message === message) return;
    this.tools.events.record(RESOURCES.AgentDeployment, deployment, { type: 'Warning', reason, message });
  }
}

/** @param count number of deployments */
function resultOf(decision: DeploymentDecision, count: number): Result {
  switch (decision.kind) {
    case 'refuse':
      return wait(decision.refusal.reason, decision.lookAgainMs);
    case 'settled':
      return after(pacedLook(decision.lookAgainMs, count));
    case 'ensure-project':
    case 'ensure-key-and-database':
    case 'mark-pods':
    case 'make-revision':
    case 'reject-request':
    case 'store-variables':
    case 'archive-revisions':
      return after(0);
    default:
      return decision satisfies never;
  }
}
