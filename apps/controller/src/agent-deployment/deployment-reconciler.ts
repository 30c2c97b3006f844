import { TerminalError } from '#lib/errors';
import {
  addFinalizer,
  type EventRecorder,
  isAlreadyExists,
  isConflict,
  type KubeClient,
  removeFinalizer,
  StatusWriter,
} from '#lib/kube';
import type { AddressMode } from '#lib/manifests';
import { after, done, finalizerStep, isOwnedBy, type Result, wait } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentDeploymentStatus,
  type AgentRevision,
  CONDITION,
  type ConditionDraft,
  EVENT,
  FINALIZER,
  isConditionTrue,
  isDeleting,
  keyOf,
  LABEL,
  type ObjectKey,
  REASON,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { workspaceOf } from '../caches.js';
import { ensureId } from '../identity/ensure-id.js';
import { untilSecretLook } from '../secret-look.js';
import { decideRevision, isHandled, revisionsToForget } from './decide-revision.js';
import type { DeploymentProvisioning } from './deployment-provisioning.js';
import { type DeploymentFindings, revisionCondition, summarizeDeployment } from './deployment-status.js';
import {
  byNumber,
  type DeploymentCaches,
  type DeploymentWorld,
  observeDeployment,
} from './deployment-world.js';
import { failedPass } from './failed-pass.js';
import type { ImageIndex } from './image-index.js';
import { findRefusal, findRevisionRefusal, type Refusal } from './refusal.js';
import { revisionHash } from './revision-hash.js';
import type { RevisionMaker } from './revision-maker.js';

/** What the reconciler works with. */
export interface DeploymentTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly provisioning: DeploymentProvisioning;
  readonly maker: RevisionMaker;
  readonly readImages: () => Promise<ImageIndex>;
  readonly addresses: AddressMode;
}

/** Findings in the making; the status is written from it whatever becomes of the pass. */
interface Draft {
  conditions: ConditionDraft[];
  keeps: readonly string[];
  tracingProjectId: string | undefined;
  handledRevisionRequestId: string | undefined;
  revisions: readonly AgentRevision[];
  isHandled: boolean;
}

const WAIT_MS = 10_000;
const DELETING_MS = 1_000;
/** Optional fields of the status that must go when they have no value. */
const OWNED: readonly (keyof AgentDeploymentStatus)[] = [
  'activeRevisionId',
  'activeRevisionName',
  'latestRevisionId',
  'latestRevisionName',
  'url',
];

/**
 * AgentDeployment: tracing project, platform key and database first, then a revision whenever something that makes one
 * changed. What runs of a revision is the listener's; this one only reads how far it is.
 */
export class DeploymentReconciler {
  readonly #caches: DeploymentCaches;
  readonly #tools: DeploymentTools;
  readonly #status: StatusWriter;

  constructor(caches: DeploymentCaches, tools: DeploymentTools) {
    this.#caches = caches;
    this.#tools = tools;
    this.#status = new StatusWriter(tools.client);
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { client } = this.#tools;
    const found = this.#caches.deployments.find(key);
    if (!found) return done();
    const step = finalizerStep(found, FINALIZER.deployment);
    if (step === 'gone') return done();
    if (step === 'finalize') return await this.#finalize(found);
    const held = await addFinalizer(client, RESOURCES.AgentDeployment, found, FINALIZER.deployment);
    const deployment = await ensureId(client, RESOURCES.AgentDeployment, held, this.#caches.deployments);

    const world = observeDeployment(this.#caches, deployment);
    const draft: Draft = {
      conditions: [],
      keeps: [],
      tracingProjectId: deployment.status?.tracingProjectId,
      handledRevisionRequestId: deployment.status?.handledRevisionRequestId,
      revisions: world.revisions,
      isHandled: false,
    };
    try {
      const result = await this.#advance(world, draft);
      await this.#report(world, draft);
      return result;
    } catch (error) {
      // somebody else wrote first, perhaps this very controller before its cache saw it: the next pass sees more
      if (isConflict(error) || isAlreadyExists(error)) throw error;
      const { conditions, ...rest } = failedPass(draft.conditions, deployment.status?.conditions, error);
      await this.#report(world, { ...draft, ...rest, conditions });
      throw error;
    }
  }

  async #advance(world: DeploymentWorld, draft: Draft): Promise<Result> {
    const refusal = findRefusal(world);
    if (refusal || !world.workspace) return this.#refuse(draft, refusal);
    const { tenantId } = world.workspace.spec;
    const platformKey = await this.#provision(world.deployment, tenantId, draft);
    const environment = await this.#environment(world.deployment);
    const lookMs = untilSecretLook(world.deployment.spec.secretsRef, environment);
    const revisionRefusal = findRevisionRefusal(world, environment);
    if (revisionRefusal || !environment || !world.listener)
      return this.#refuse(draft, revisionRefusal, environment ? undefined : lookMs);
    await this.#advanceRevision(world, draft, { tenantId, platformKey, environment });
    await this.#forgetOld(world, draft.revisions);
    draft.conditions.push(revisionCondition(world.deployment, draft.revisions.at(-1)));
    draft.isHandled = true;
    return lookMs === undefined ? done() : after(lookMs);
  }

  #refuse(draft: Draft, refusal: Refusal | undefined, waitMs = WAIT_MS): Result {
    if (!refusal) return wait(REASON.pending, waitMs);
    draft.conditions.push({ ...refusal, status: 'False' });
    draft.isHandled = true;
    return wait(refusal.reason, waitMs);
  }

  /** Project, database and key: asked for once, and again whenever the spec changes. */
  async #provision(deployment: AgentDeployment, tenantId: string, draft: Draft): Promise<string> {
    const { provisioning } = this.#tools;
    const { conditions, observedGeneration } = deployment.status ?? {};
    const isCurrent = observedGeneration === deployment.metadata.generation;
    if (!isCurrent || draft.tracingProjectId === undefined)
      draft.tracingProjectId = await provisioning.ensureProject(deployment, tenantId);
    draft.conditions.push({
      type: CONDITION.tracingProjectReady,
      status: 'True',
      reason: REASON.projectFound,
      message: 'the tracing project is there',
    });
    const platformKey = await provisioning.ensurePlatformKey(deployment, tenantId);
    if (!isCurrent || !isConditionTrue(conditions, CONDITION.databaseReady))
      await provisioning.ensureDatabase(deployment);
    draft.conditions.push({
      type: CONDITION.databaseReady,
      status: 'True',
      reason: REASON.databaseCreated,
      message: 'the database is there',
    });
    return platformKey;
  }

  /** The user's variables, base64; undefined when the Secret that should hold them is not there. */
  async #environment({
    metadata,
    spec,
  }: AgentDeployment): Promise<Readonly<Record<string, string>> | undefined> {
    if (!spec.secretsRef) return {};
    const key = { namespace: metadata.namespace ?? '', name: spec.secretsRef.name };
    const secret = await this.#tools.client.find(SECRETS, key);
    return secret && (secret.data ?? {});
  }

  async #advanceRevision(
    world: DeploymentWorld,
    draft: Draft,
    given: {
      readonly tenantId: string;
      readonly platformKey: string;
      readonly environment: Readonly<Record<string, string>>;
    },
  ): Promise<void> {
    const { deployment, listener } = world;
    const { maker, events, readImages } = this.#tools;
    const hash = revisionHash(deployment, given.environment, given.platformKey);
    let decision = decideRevision(deployment, draft.revisions, hash);
    if (decision.kind === 'reject-request') {
      // whoever asks has seen the revision, and the cache may not have
      draft.revisions = byNumber((await this.#listRevisions(deployment)).filter((one) => !isDeleting(one)));
      decision = decideRevision(deployment, draft.revisions, hash);
    }
    if (decision.kind === 'reject-request') {
      events.record(RESOURCES.AgentDeployment, deployment, {
        type: 'Warning',
        reason: decision.reason,
        message: decision.message,
      });
      draft.handledRevisionRequestId = decision.requestId;
      return;
    }
    if (decision.kind !== 'none') {
      const made = await maker.make(deployment, decision, {
        tenantId: given.tenantId,
        listenerName: listener?.metadata.name ?? '',
        hash,
        images: await readImages(),
      });
      draft.revisions = [...draft.revisions, made];
      await this.#caches.revisions.seen(made);
      events.record(RESOURCES.AgentDeployment, deployment, {
        type: 'Normal',
        reason: EVENT.revisionCreated,
        message: `created revision ${made.metadata.name}`,
      });
    }
    if (isHandled(deployment, draft.revisions) && deployment.spec.revisionRequest)
      draft.handledRevisionRequestId = deployment.spec.revisionRequest.id;
    await this.#complete(deployment, draft, given.environment);
  }

  async #complete(
    deployment: AgentDeployment,
    draft: Draft,
    environment: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { maker } = this.#tools;
    const latest = draft.revisions.at(-1);
    if (!latest || isConditionTrue(latest.status?.conditions, CONDITION.built)) return;
    const { redeployOf } = latest.spec;
    const of = draft.revisions.find(({ metadata }) => metadata.name === redeployOf);
    const variables = redeployOf === undefined ? environment : of && (await maker.variablesOf(of));
    if (!variables)
      throw new TerminalError(
        REASON.revisionMissing,
        `${latest.metadata.name} repeats ${redeployOf ?? ''}, whose variables are gone: ask for a new revision`,
      );
    const completed = await maker.complete(deployment, latest, variables);
    draft.revisions = [...draft.revisions.slice(0, -1), completed];
  }

  async #forgetOld(
    { deployment: { spec }, service }: DeploymentWorld,
    revisions: readonly AgentRevision[],
  ): Promise<void> {
    const served = service?.spec.selector?.[LABEL.revision];
    for (const revision of revisionsToForget(revisions, spec.revisionHistoryLimit, served))
      await this.#tools.client.delete(RESOURCES.AgentRevision, keyOf(revision), uidOf(revision));
  }

  async #report(world: DeploymentWorld, draft: DeploymentFindings): Promise<void> {
    const { addresses, clock } = this.#tools;
    const status = summarizeDeployment(world, draft, addresses, clock.now());
    const written = await this.#status.apply(RESOURCES.AgentDeployment, world.deployment, status, OWNED);
    await this.#caches.deployments.seen(written);
  }

  /** Pods first, then what they use: an agent that loses its database before its end would only report errors. */
  async #finalize(deployment: AgentDeployment): Promise<Result> {
    const { client, provisioning } = this.#tools;
    const revisions = await this.#listRevisions(deployment);
    for (const revision of revisions)
      if (!isDeleting(revision))
        await client.delete(RESOURCES.AgentRevision, keyOf(revision), {
          ...uidOf(revision),
          propagation: 'Foreground',
        });
    if (revisions.length > 0) return wait(REASON.deleting, DELETING_MS);
    const workspace = workspaceOf(this.#caches.workspaces, deployment.metadata.namespace);
    await provisioning.release(deployment, workspace?.spec.tenantId);
    await removeFinalizer(client, RESOURCES.AgentDeployment, deployment, FINALIZER.deployment);
    return done();
  }

  /** From the server: a revision that no cache shows yet would lose its database under its pods. */
  async #listRevisions(deployment: AgentDeployment): Promise<readonly AgentRevision[]> {
    const { namespace = '', name } = deployment.metadata;
    const labelSelector = `${LABEL.deployment}=${name}`;
    const { items } = await this.#tools.client.list(RESOURCES.AgentRevision, { namespace, labelSelector });
    return items.filter((revision) => isOwnedBy(revision, deployment));
  }
}

/** Precondition of a deletion: this object and none that has its name meanwhile. */
function uidOf({ metadata: { uid } }: AgentRevision): { readonly uid?: string } {
  return uid === undefined ? {} : { uid };
}
