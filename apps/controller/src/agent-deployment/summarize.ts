import { TerminalError, WaitingError } from '#lib/errors';
import {
  agentSelector,
  awaitedSource,
  customHostOf,
  type DatabaseChoice,
  ignoredFields,
  ignoredText,
  wantedConnections,
  wantedResourceSpec,
} from '#lib/manifests';
import { postgresTrouble } from '#lib/postgres';
import {
  type AgentDeployment,
  type AgentDeploymentStatus,
  type AgentRevision,
  CONDITION,
  type ConditionDraft,
  databaseServerName,
  findCondition,
  idOf,
  isConditionTrue,
  isRolledBack,
  type Listener,
  REASON,
  statusReason,
} from '#lib/resources';
import { conditionsOf } from '../status-conditions.js';
import { isHandled } from './decide-revision.js';
import type { DeploymentDecision } from './decide.js';
import type { DeploymentWorld } from './observe.js';

/**
 * The host that a deployment has by its custom URL; undefined while another deployment has it. A host stays
 * with the deployment that has it: an older one of another workspace that asks for it later must not receive
 * the requests of callers, keys included. The oldest of those that ask for a free host gets it, so two that
 * are reconciled at the same moment agree.
 */
export function claimHost({
  deployment,
  hostRivals,
}: Pick<DeploymentWorld, 'deployment' | 'hostRivals'>): string | undefined {
  const host = customHostOf(deployment);
  if (host === undefined) return undefined;
  const holders = hostRivals.filter(({ status }) => status?.customHost === host);
  const rivals = holders.length === 0 ? hostRivals : holders;
  const isHolder = deployment.status?.customHost === host;
  if (holders.length > 0 && !isHolder) return undefined;
  if (holders.length === 0 && isHolder) return host;
  return rivals.every((rival) => ageOf(deployment) < ageOf(rival)) ? host : undefined;
}

/** Sorts from the oldest on. */
function ageOf({ metadata }: AgentDeployment): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
}

/** Outcome of carrying out a decision. */
export type Outcome =
  | {
      readonly kind: 'done';
      readonly projectId?: string;
      /** It is tried again then, which keeps nothing else of the deployment waiting. */
      readonly retryMs?: number;
    }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Stages in the order in which a deployment comes to them. */
const STAGES = [CONDITION.tracingProjectReady, CONDITION.databaseReady, CONDITION.revisionReady] as const;
type Stage = (typeof STAGES)[number];

/** The complete status of an AgentDeployment after a pass. */
export function summarizeDeployment(
  world: DeploymentWorld,
  decision: DeploymentDecision,
  outcome: Outcome,
  now: Date,
): AgentDeploymentStatus {
  const { deployment, revisions } = world;
  const { metadata, spec, status } = deployment;
  const latest = revisions.at(-1);
  const active = revisions.findLast((revision) =>
    isConditionTrue(revision.status?.conditions, CONDITION.active),
  );
  const generation = isFinal(decision, outcome) ? metadata.generation : status?.observedGeneration;
  const { found, keeps } = findings(world, decision, outcome);
  return defined({
    observedGeneration: generation,
    id: idOf(deployment),
    latestRevisionId: latest && idOf(latest),
    latestRevisionName: latest?.metadata.name,
    activeRevisionId: active && idOf(active),
    activeRevisionName: active?.metadata.name,
    imageVersion: active?.status?.imageVersion,
    handledRevisionRequestId: handledRequest(world, decision),
    tracingProjectId: (outcome.kind === 'done' ? outcome.projectId : undefined) ?? status?.tracingProjectId,
    databaseConnections: world.database?.connections,
    replicas: active?.status?.replicas,
    lastWake: active?.status?.lastWake,
    selector: active && podSelector(active),
    customHost: claimHost(world),
    // before a revision ever served there is nothing to call, whatever address it will have
    url: active && (spec.sourceConfig.customUrl ?? active.status?.url),
    conditions: conditionsOf(
      status?.conditions,
      [...found, ...fieldsIgnored(world)],
      { needs: STAGES, message: 'the newest revision serves', ...ofSleep(latest) },
      generation,
      now,
      keeps,
    ),
  });
}

/** The pods of a revision that answer HTTP, for autoscalers. */
function podSelector({ metadata, status }: AgentRevision): string {
  const labels = Object.entries(agentSelector(status?.workload ?? metadata.name));
  return labels.map(([name, value]) => `${name}=${value}`).join(',');
}

/** True when this generation is handled as far as it can be. */
function isFinal({ kind }: DeploymentDecision, outcome: Outcome): boolean {
  if (outcome.kind === 'failed') return outcome.error instanceof TerminalError;
  return kind === 'settled' || kind === 'archive-revisions' || kind === 'refuse';
}

function handledRequest({ deployment, revisions }: DeploymentWorld, decision: DeploymentDecision) {
  const { spec, status } = deployment;
  if (decision.kind === 'reject-request') return decision.requestId;
  const isSettled = decision.kind === 'settled' || decision.kind === 'archive-revisions';
  if (isSettled && spec.revisionRequest && isHandled(deployment, revisions)) return spec.revisionRequest.id;
  return status?.handledRevisionRequestId;
}

/** The condition that the decision is about. */
function stageOf(decision: DeploymentDecision): Stage {
  switch (decision.kind) {
    case 'ensure-project':
      return CONDITION.tracingProjectReady;
    case 'ensure-key-and-database':
      return CONDITION.databaseReady;
    case 'refuse':
      return decision.refusal.type;
    case 'mark-pods':
    case 'make-revision':
    case 'reject-request':
    case 'store-variables':
    case 'archive-revisions':
    case 'settled':
      return CONDITION.revisionReady;
    default:
      return decision satisfies never;
  }
}

interface Findings {
  readonly found: readonly ConditionDraft[];
  /** Types that stay as they are. */
  readonly keeps: readonly string[];
}

/**
 * Stages before that of the decision are done, stages after it stay as they were. A transient error makes nothing untrue
 * that was true before: a database still exists after a request failed.
 */
function findings(world: DeploymentWorld, decision: DeploymentDecision, outcome: Outcome): Findings {
  const { status } = world.deployment;
  const stage = stageOf(decision);
  const at = STAGES.indexOf(stage);
  const earlier = STAGES.slice(0, at).map((type) => ensured(type, world));
  const later: readonly string[] = STAGES.slice(at + 1);
  if (outcome.kind === 'failed') {
    // a WaitingError names an object that is known not to exist or not to be ready
    if (outcome.error instanceof TerminalError || outcome.error instanceof WaitingError) {
      const { reason, message } = outcome.error;
      return {
        found: [...earlier, { type: stage, status: 'False', reason, message }],
        keeps: [...later, CONDITION.rolledBack],
      };
    }
    if (isConditionTrue(status?.conditions, stage))
      return { found: earlier, keeps: [stage, ...later, CONDITION.rolledBack] };
    return {
      found: [...earlier, { type: stage, status: 'Unknown', ...passing(outcome.error) }],
      keeps: [...later, CONDITION.rolledBack],
    };
  }
  if (decision.kind === 'refuse')
    return { found: [...earlier, { ...decision.refusal, status: 'False' }], keeps: [CONDITION.rolledBack] };
  if (stage !== CONDITION.revisionReady)
    return { found: [...earlier, ensured(stage, world)], keeps: [...later, CONDITION.rolledBack] };
  const latest = world.revisions.at(-1);
  return {
    found: [
      ...earlier,
      revisionCondition(world.deployment, latest, world.silentListener),
      ...rolledBack(latest),
    ],
    keeps: later,
  };
}

/** While the spec has fields that have no effect, which is no failure. */
function fieldsIgnored(world: DeploymentWorld): readonly ConditionDraft[] {
  const runsProcesses = world.runsProcesses && world.listener?.spec.remote === undefined;
  const surroundings = { databases: databaseChoice(world), runsProcesses };
  const message = ignoredText(ignoredFields(world.deployment.spec, surroundings));
  return message === ''
    ? []
    : [{ type: CONDITION.fieldsIgnored, status: 'True', reason: REASON.noEffect, message }];
}

function databaseChoice({ database, listener, offersServers }: DeploymentWorld): DatabaseChoice {
  if (database?.server === 'own') return 'own';
  if (!offersServers) return 'shared';
  if (listener?.spec.remote !== undefined) return 'other-cluster';
  return database === undefined ? 'own' : 'began-shared';
}

/** While the newest revision is one that failed after it had taken over. */
function rolledBack(latest: AgentRevision | undefined): readonly ConditionDraft[] {
  const { conditions } = latest?.status ?? {};
  const [active, failed] = [CONDITION.active, CONDITION.failed].map((type) =>
    findCondition(conditions, type),
  );
  if (!latest || !active || !failed || !isRolledBack(latest)) return [];
  const message = `${latest.metadata.name}: ${active.message}; it failed: ${failed.message}`;
  return [{ type: CONDITION.rolledBack, status: 'True', reason: failed.reason, message }];
}

/** Sleep of the newest revision as a condition, in the same words wherever it is read. */
function ofSleep(latest: AgentRevision | undefined): Pick<ConditionDraft, 'reason' | 'message'> | undefined {
  const ready = findCondition(latest?.status?.conditions, CONDITION.ready);
  const isAsleep = ready?.reason === REASON.asleep || ready?.reason === REASON.waking;
  return isAsleep ? { reason: ready.reason, message: ready.message } : undefined;
}

/** The text of a database's or server's error belongs in the log: it may name hosts and users. */
function passing(error: unknown): Pick<ConditionDraft, 'reason' | 'message'> {
  return postgresTrouble(error) === 'unavailable'
    ? {
        reason: REASON.dependencyUnavailable,
        message: 'waiting for the database server: unavailable; retrying',
      }
    : { reason: REASON.progressing, message: 'retrying after an error; see the log of the controller' };
}

/** True for this generation, whether or not the rest of it is handled. */
function ensured(type: Stage, world: DeploymentWorld): ConditionDraft {
  const { generation } = world.deployment.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return type === CONDITION.tracingProjectReady
    ? { type, status: 'True', reason: REASON.projectFound, message: 'tracing project exists', ...observed }
    : { type, status: 'True', reason: REASON.databaseCreated, message: databaseMessage(world), ...observed };
}

function databaseMessage({ deployment, database }: DeploymentWorld): string {
  const given = database?.connections;
  if (given === undefined)
    return database?.server === 'own'
      ? `database exists, on a server of its own, ${serverText(deployment)}`
      : 'database exists';
  const resourceSpec = wantedResourceSpec(deployment.spec);
  const wanted = resourceSpec?.dbMaxConnections ?? wantedConnections(resourceSpec);
  return `database exists, with ${given} connections at most instead of ${wanted}: the server has no more for one agent; lower dbMaxConnections`;
}

function serverText({ metadata }: AgentDeployment): string {
  return `StatefulSet ${databaseServerName(metadata.name)}`;
}

/** Condition of a deployment that follows from its newest revision. */
export function revisionCondition(
  deployment: AgentDeployment,
  latest: AgentRevision | undefined,
  silentListener?: Listener,
): ConditionDraft {
  const known = knownCondition(deployment, latest);
  if (!silentListener || known.reason === REASON.suspended) return known;
  // the last report may be outdated: pods come and go without the listener
  const beat = findCondition(silentListener.status?.conditions, CONDITION.heartbeatFresh)?.message ?? '';
  return {
    type: known.type,
    status: 'Unknown',
    reason: REASON.noHeartbeat,
    message: `Listener ${silentListener.metadata.name}: ${beat}; it reported last: ${known.message}`,
  };
}

function knownCondition(deployment: AgentDeployment, latest: AgentRevision | undefined): ConditionDraft {
  const type = CONDITION.revisionReady;
  if (deployment.spec.suspend)
    return { type, status: 'False', reason: REASON.suspended, message: 'the deployment is suspended' };
  const awaited = awaitedSource(deployment.spec);
  if (!latest && awaited !== undefined)
    return { type, status: 'Unknown', reason: REASON.awaitingSource, message: awaited };
  if (!latest)
    return { type, status: 'Unknown', reason: REASON.noRevision, message: 'creating its first revision' };
  const failed = findCondition(latest.status?.conditions, CONDITION.failed);
  const { name } = latest.metadata;
  if (failed?.status === 'True')
    return { type, status: 'False', reason: failed.reason, message: `${name}: ${failed.message}` };
  const ready = findCondition(latest.status?.conditions, CONDITION.ready);
  // clients that wait for Ready call the address next, and a node gives a new Service its port a moment later
  if (ready?.status === 'True' && latest.status?.url === undefined)
    return { type, status: 'Unknown', reason: REASON.deploying, message: `${name} waits for its address` };
  if (ready?.status === 'True')
    return {
      type,
      status: 'True',
      reason: REASON.serving,
      message: `${name} serves`,
      ...ofSleep(latest),
    };
  // a revision that served and lost its pods is not ready; one that is deploying is not known yet
  const told = statusReason(latest);
  const wasActive = findCondition(latest.status?.conditions, CONDITION.active) !== undefined;
  return {
    type,
    status: wasActive ? 'False' : 'Unknown',
    reason: told?.reason ?? REASON.awaitingListener,
    message: `${name}: ${told?.message ?? 'waiting for the listener'}`,
  };
}

/** Drops the fields that have no value: an applied status owns all fields that it names. */
function defined(status: {
  readonly [K in keyof AgentDeploymentStatus]: AgentDeploymentStatus[K] | undefined;
}) {
  return Object.fromEntries(
    Object.entries(status).filter(([, value]) => value !== undefined),
  ) as AgentDeploymentStatus;
}
