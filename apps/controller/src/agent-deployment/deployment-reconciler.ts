import { addFinalizer, isAlreadyExists, isConflict, StatusWriter } from '#lib/kube';
import { after, done, finalizerStep, type Result, wait } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentDeploymentStatus,
  CONDITION,
  EVENT,
  FINALIZER,
  findCondition,
  type ObjectKey,
  RESOURCES,
} from '#lib/resources';
import { workspaceOf } from '../caches.js';
import { pacedLook } from '../paced-look.js';
import { ownId } from '../identity/decide-id.js';
import { ensureId } from '../identity/ensure-id.js';
import { decideDeployment, type DeploymentDecision } from './decide.js';
import type { DeploymentTools } from './deployment-tools.js';
import { finalizeDeployment } from './finalize.js';
import { archiveRevisions } from './archive-revisions.js';
import { makeRevision } from './make-revision.js';
import { type DeploymentCaches, type DeploymentWorld, observeDeployment } from './observe.js';
import { reportVariables, storeVariables } from './store-variables.js';
import { type Outcome, summarizeDeployment } from './summarize.js';

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
  readonly #caches: DeploymentCaches;
  readonly #tools: DeploymentTools;
  readonly #status: StatusWriter;
  readonly #revisionStatus: StatusWriter;

  constructor(caches: DeploymentCaches, tools: DeploymentTools) {
    this.#caches = caches;
    this.#tools = tools;
    this.#status = new StatusWriter(tools.client, { conditionTypes: CONDITIONS });
    this.#revisionStatus = new StatusWriter(tools.client, { conditionTypes: [CONDITION.variablesReady] });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { client } = this.#tools;
    const found = this.#caches.deployments.find(key);
    if (!found) return done();
    const step = finalizerStep(found, FINALIZER.deployment);
    if (step === 'gone') return done();
    if (step === 'finalize') {
      const workspace = workspaceOf(this.#caches.workspaces, found.metadata.namespace);
      const id = ownId(found, this.#caches.deployments.list());
      return await finalizeDeployment(this.#tools, found, { id, workspace });
    }
    const held = await addFinalizer(client, RESOURCES.AgentDeployment, found, FINALIZER.deployment);
    const deployment = await ensureId(client, RESOURCES.AgentDeployment, held, this.#caches.deployments);
    const world = await observeDeployment(this.#tools, this.#caches, deployment);
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
    return retryMs === undefined
      ? resultOf(decision, this.#caches.deployments.list().length)
      : after(retryMs);
  }

  async #act({ deployment, defaults }: DeploymentWorld, decision: DeploymentDecision): Promise<Outcome> {
    const { client, provisioning, events, clock } = this.#tools;
    switch (decision.kind) {
      case 'ensure-project':
        return { kind: 'done', projectId: await provisioning.ensureProject(deployment, decision.tenantId) };
      case 'ensure-key-and-database':
        await provisioning.ensurePlatformKey(deployment, decision.tenantId);
        await provisioning.ensureDatabase(deployment, decision.tenantId, decision.mayHaveServer);
        break;
      case 'mark-pods':
        await this.#caches.deployments.seen(await provisioning.markPods(deployment, decision.mark));
        events.record(RESOURCES.AgentDeployment, deployment, {
          type: 'Normal',
          reason: EVENT.databaseAddressChanged,
          message: 'the URI of the database changed; replacing pods that have the former one',
        });
        break;
      case 'make-revision': {
        const made = await makeRevision(client, deployment, decision, defaults);
        await this.#caches.revisions.seen(made);
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
        await this.#caches.revisions.seen(await reportVariables(this.#revisionStatus, revision, clock.now()));
        break;
      }
      case 'reject-request': {
        const { reason, message } = decision;
        events.record(RESOURCES.AgentDeployment, deployment, { type: 'Warning', reason, message });
        break;
      }
      case 'archive-revisions':
        return await archiveRevisions(this.#tools, deployment, decision);
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
    const status = summarizeDeployment(world, decision, outcome, this.#tools.clock.now());
    this.#warnOfIgnored(world.deployment, status);
    this.#warnOfRefusal(world.deployment, decision);
    const written = await this.#status.apply(RESOURCES.AgentDeployment, world.deployment, status, OWNED);
    await this.#caches.deployments.seen(written);
  }

  /** Once for each set of fields, before the status has it. */
  #warnOfIgnored(deployment: AgentDeployment, next: AgentDeploymentStatus): void {
    const [before, now] = [deployment.status, next].map(
      (status) => findCondition(status?.conditions, CONDITION.fieldsIgnored)?.message,
    );
    if (now === undefined || now === before) return;
    const reason = EVENT.fieldsIgnored;
    this.#tools.events.record(RESOURCES.AgentDeployment, deployment, {
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
    this.#tools.events.record(RESOURCES.AgentDeployment, deployment, { type: 'Warning', reason, message });
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
