import { createHmac } from 'node:crypto';
import { stableJson } from '#lib/json';
import { placeNamespaces, withScaleOf } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  CONDITION,
  findCondition,
  isConditionTrue,
  type Listener,
  REASON,
  type ResourceSpec,
} from '#lib/resources';
import { untilSecretLook } from '../paced-look.js';
import { decideRevision, type NewRevision } from './decide-revision.js';
import { type DeploymentWorld, hasVariables, type Variables } from './observe.js';
import { admitDeployment, admitRevision, type Refusal, refuseLostListener } from './refusal.js';

/**
 * Revisions beyond the history limit, oldest first: never the newest, the one that serves, or one that a kept revision
 * repeats, since that one may run its Deployment. Only revisions whose end the listener has reported, which is final:
 * the Service moves a moment before that is reported.
 */
export function revisionsToForget(
  revisions: readonly AgentRevision[],
  limit: number,
): readonly AgentRevision[] {
  const others = revisions.filter(
    (revision) => revision !== revisions.at(-1) && revision.status?.serving !== true,
  );
  const surplus = new Set(others.slice(0, Math.max(0, others.length - limit)).filter(hasEnded));
  const repeated = new Set(
    revisions.filter((revision) => !surplus.has(revision)).map(({ spec }) => spec.redeployOf),
  );
  return [...surplus].filter(({ metadata }) => !repeated.has(metadata.name));
}

function hasEnded({ status }: AgentRevision): boolean {
  const conditions = status?.conditions;
  return (
    isConditionTrue(conditions, CONDITION.failed) ||
    isConditionTrue(conditions, CONDITION.superseded) ||
    findCondition(conditions, CONDITION.active)?.status === 'False'
  );
}

/**
 * Hash of everything that makes a revision, which numbers of pods do not, keyed with the deployment's own platform key: the hash is an annotation, and
 * short secrets could be guessed from a plain hash by a reader of revisions who may not read Secrets.
 * @param environment values of the secretsRef Secret, base64
 */
export function revisionHash(
  deployment: Pick<AgentDeployment, 'spec'>,
  environment: Readonly<Record<string, string>>,
  platformKey: string,
): string {
  return hashWith(
    deployment,
    withScaleOf(deployment.spec.sourceConfig.resourceSpec, {}),
    environment,
    platformKey,
  );
}

/**
 * The hashes that earlier versions, which counted numbers of pods, gave a revision of the present spec, with the present
 * numbers or those of the revision.
 */
export function formerHashes(
  deployment: Pick<AgentDeployment, 'spec'>,
  { spec: { resourceSpec: former = {} } }: Pick<AgentRevision, 'spec'>,
  environment: Readonly<Record<string, string>>,
  platformKey: string,
): readonly string[] {
  const { resourceSpec } = deployment.spec.sourceConfig;
  return [resourceSpec, withScaleOf(resourceSpec, former)].map((one) =>
    hashWith(deployment, one, environment, platformKey),
  );
}

function hashWith(
  { spec }: Pick<AgentDeployment, 'spec'>,
  resourceSpec: ResourceSpec | undefined,
  environment: Readonly<Record<string, string>>,
  platformKey: string,
): string {
  const { secretReferences = [] } = spec;
  const made = [
    spec.source,
    spec.sourceRevisionConfig,
    resourceSpec ?? null,
    environment,
    // revisions without any keep the hash that they had
    ...(secretReferences.length > 0 ? [secretReferences] : []),
  ];
  return createHmac('sha256', platformKey).update(stableJson(made)).digest('hex').slice(0, 32);
}

/** Next step for a deployment. After each one but the last the world is observed again. */
export type DeploymentDecision =
  /** A person has to change something. */
  | { readonly kind: 'refuse'; readonly refusal: Refusal; readonly lookAgainMs: number }
  | { readonly kind: 'ensure-project'; readonly tenantId: string }
  /** The platform key and the database, with their Secrets. */
  | {
      readonly kind: 'ensure-key-and-database';
      readonly tenantId: string;
      /** True when its pods can reach a Postgres server of its own in this cluster. */
      readonly mayHaveServer: boolean;
    }
  /** The URI of the database was replaced: the pods that have the former one are. */
  | { readonly kind: 'mark-pods'; readonly mark: string }
  | {
      readonly kind: 'make-revision';
      readonly revision: NewRevision;
      readonly tenantId: string;
      readonly listenerName: string;
      /** Namespace in which a remote listener runs the revision. */
      readonly placeNamespace: string | undefined;
      readonly hash: string;
    }
  /** The request cannot be met and never will be. */
  | {
      readonly kind: 'reject-request';
      readonly requestId: string;
      readonly reason: string;
      readonly message: string;
    }
  | { readonly kind: 'store-variables'; readonly revision: AgentRevision; readonly variables: Variables }
  /** Revisions to archive, since they are past the limit of the history. Everything else is done. */
  | {
      readonly kind: 'archive-revisions';
      readonly revisions: readonly AgentRevision[];
      readonly tenantId: string;
    }
  | {
      readonly kind: 'settled';
      readonly lookAgainMs: number;
      /** While its pods wait for their database: the agent may have changed its own password, which is set again. */
      readonly login?: { readonly tenantId: string; readonly mayHaveServer: boolean };
    };

const REFUSED_MS = 10_000;
/** Nothing wakes a deployment when its tracing project is deleted. */
const PROJECT_LOOK_MS = 60_000;
/** The same for one that sleeps, which makes no traces. Its wake is a change of its revision, and looks at once. */
const ASLEEP_LOOK_MS = 3_600_000;

/**
 * Decides in the order in which one thing needs the other: tracing project, platform key and database,
 * revision, its variables. The listener runs the revision, and the builder makes its image.
 */
export function decideDeployment(world: DeploymentWorld): DeploymentDecision {
  const { deployment, platformKey, database, revisions } = world;
  const admitted = admitDeployment(world);
  if (admitted.refusal) return refuse(admitted.refusal);
  const { tenantId } = admitted.workspace.spec;
  const mayHaveServer = world.listener?.spec.remote === undefined;
  if (
    world.tracingProjectId === undefined ||
    deployment.status?.tracingProjectId !== world.tracingProjectId ||
    !isEnsured(deployment, CONDITION.tracingProjectReady)
  )
    return { kind: 'ensure-project', tenantId };
  // not current where the platform reaches its server in another way than before, for one after an upgrade
  if (
    platformKey === undefined ||
    database?.isCurrent !== true ||
    !isEnsured(deployment, CONDITION.databaseReady)
  )
    return { kind: 'ensure-key-and-database', tenantId, mayHaveServer };
  const { mark } = database;
  if (mark !== undefined && mark !== deployment.metadata.annotations?.[ANNOTATION.database])
    return { kind: 'mark-pods', mark };
  const lookAgainMs = untilSecretLook(deployment.spec.secretsRef, world.environment);
  const revisable = admitRevision(world);
  if (revisable.refusal) return refuse(revisable.refusal, world.environment ? undefined : lookAgainMs);
  const { listener, environment } = revisable;
  const hash = revisionHash(deployment, environment, platformKey);
  const latest = revisions.at(-1);
  const former = latest ? formerHashes(deployment, latest, environment, platformKey) : [];
  const next = decideRevision(deployment, revisions, [hash, ...former]);
  if (next.kind === 'reject-request') return next;
  if (next.kind === 'make') {
    const listenerName = listener.metadata.name;
    const placeNamespace = decidePlace(world, listener);
    return { kind: 'make-revision', revision: next.revision, tenantId, listenerName, placeNamespace, hash };
  }
  const lost = refuseLostListener(world);
  return (
    decideVariables(world, environment) ??
    (lost && refuse(lost)) ??
    decideArchiving(world, tenantId) ??
    decideLook(world, { tenantId, mayHaveServer }, lookAgainMs)
  );
}

function decideLook(
  { revisions }: DeploymentWorld,
  login: { readonly tenantId: string; readonly mayHaveServer: boolean },
  secretLookMs: number | undefined,
): DeploymentDecision {
  const isWaiting = revisions.some(
    ({ status }) =>
      findCondition(status?.conditions, CONDITION.workloadsReady)?.reason === REASON.dependencyUnavailable,
  );
  const isAsleep = revisions.some(({ status }) => status?.asleepSince !== undefined);
  const lookAgainMs = secretLookMs ?? (isAsleep ? ASLEEP_LOOK_MS : PROJECT_LOOK_MS);
  return { kind: 'settled', lookAgainMs, ...(isWaiting ? { login } : {}) };
}

/** A deployment stays where it began, whichever namespace its listener names first by now: its Service is there. */
function decidePlace({ deployment, revisions }: DeploymentWorld, listener: Listener): string | undefined {
  if (listener.spec.remote === undefined) return undefined;
  const former = revisions.findLast(({ spec }) => spec.listenerName === listener.metadata.name);
  const wanted = deployment.spec.sourceConfig.listenerConfig?.clusterNamespace;
  return wanted ?? former?.spec.placeNamespace ?? placeNamespaces(listener)[0];
}

/** True when the condition was set for this very generation: the spec may have changed since. */
function isEnsured({ metadata, status }: AgentDeployment, type: string): boolean {
  const condition = findCondition(status?.conditions, type);
  return condition?.status === 'True' && condition.observedGeneration === metadata.generation;
}

function decideVariables(
  { revisions, repeated }: DeploymentWorld,
  environment: Variables,
): DeploymentDecision | undefined {
  const latest = revisions.at(-1);
  if (!latest || hasVariables(latest)) return undefined;
  const { redeployOf } = latest.spec;
  const variables = redeployOf === undefined ? environment : repeated;
  if (variables) return { kind: 'store-variables', revision: latest, variables };
  return refuse({
    type: CONDITION.revisionReady,
    reason: REASON.revisionMissing,
    message: `${latest.metadata.name} repeats ${redeployOf ?? ''}, whose variables do not exist; request a new revision`,
  });
}

function decideArchiving(
  { deployment, revisions }: DeploymentWorld,
  tenantId: string,
): DeploymentDecision | undefined {
  const surplus = revisionsToForget(revisions, deployment.spec.revisionHistoryLimit);
  return surplus.length === 0 ? undefined : { kind: 'archive-revisions', revisions: surplus, tenantId };
}

function refuse(refusal: Refusal, lookAgainMs = REFUSED_MS): DeploymentDecision {
  return { kind: 'refuse', refusal, lookAgainMs };
}
