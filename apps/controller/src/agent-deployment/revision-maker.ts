import { TerminalError } from '#lib/errors';
import { applyOwned, isAlreadyExists, type KubeClient, StatusWriter } from '#lib/kube';
import { buildRevisionEnvSecret, revisionLabels } from '#lib/manifests';
import { controllerReference, isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  type AgentRevisionSpec,
  type AgentRevisionStatus,
  ANNOTATION,
  API_VERSION,
  CONDITION,
  databaseSecretName,
  isConditionTrue,
  isDeleting,
  keyOf,
  type ObjectKey,
  platformSecretName,
  REASON,
  RESOURCES,
  revisionEnvSecretName,
  revisionName,
  SECRETS,
  setCondition,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { RevisionDecision } from './decide-revision.js';
import { wireName } from './deployment-world.js';
import { type ImageIndex, pinImage } from './image-index.js';
import { requireOwned } from './require-owned.js';

/** What a revision is made from, beside the deployment's spec. */
export interface RevisionIngredients {
  readonly tenantId: string;
  readonly listenerName: string;
  readonly hash: string;
  readonly images: ImageIndex;
}

export type Makeable = Extract<RevisionDecision, { readonly kind: 'make' | 'repeat' }>;

/** Makes revisions. First the resource, then its variables, then `Built`: only that lets the listener begin. */
export class RevisionMaker {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #status: StatusWriter;

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    // the listener writes the other conditions at the same time, and none of them makes this one less true
    this.#status = new StatusWriter(client, { guard: 'uid' });
  }

  /**
   * The new revision. AlreadyExists when a cache was behind and it is there already.
   * @throws TerminalError `NotOurs` when another's has its name
   */
  async make(
    deployment: AgentDeployment,
    decision: Makeable,
    ingredients: RevisionIngredients,
  ): Promise<AgentRevision> {
    const revision = buildRevision(deployment, decision, ingredients);
    try {
      return await this.#client.create(RESOURCES.AgentRevision, revision);
    } catch (error) {
      if (isAlreadyExists(error)) await this.#refuseForeign(deployment, keyOf(revision));
      throw error;
    }
  }

  /** An orphan of a former deployment of the name would be in the way for ever; one that is going is waited for. */
  async #refuseForeign(deployment: AgentDeployment, key: ObjectKey): Promise<void> {
    const existing = await this.#client.find(RESOURCES.AgentRevision, key);
    if (!existing || isDeleting(existing) || isOwnedBy(existing, deployment)) return;
    throw new TerminalError(
      REASON.notOurs,
      `AgentRevision ${key.name} exists and does not belong to this deployment: remove it`,
    );
  }

  /** Completes a revision that is not built: its variables, then `Built`. */
  async complete(
    deployment: AgentDeployment,
    revision: AgentRevision,
    environment: Readonly<Record<string, string>>,
  ): Promise<AgentRevision> {
    if (isConditionTrue(revision.status?.conditions, CONDITION.built)) return revision;
    await this.#ensureVariables(deployment, revision, environment);
    const built = {
      type: CONDITION.built,
      status: 'True',
      reason: REASON.image,
      message: `runs ${revision.spec.image}`,
      observedGeneration: revision.metadata.generation ?? 1,
    } as const;
    const status: AgentRevisionStatus = { conditions: setCondition([], built, this.#clock.now()) };
    return await this.#status.apply(RESOURCES.AgentRevision, revision, status);
  }

  /** The variables of the snapshot that a revision repeats, base64; undefined when they are gone. */
  async variablesOf(revision: AgentRevision): Promise<Readonly<Record<string, string>> | undefined> {
    const key = { namespace: revision.metadata.namespace ?? '', name: revision.spec.envSecretName };
    const secret = await this.#client.find(SECRETS, key);
    return secret && (secret.data ?? {});
  }

  async #ensureVariables(
    deployment: AgentDeployment,
    revision: AgentRevision,
    environment: Readonly<Record<string, string>>,
  ): Promise<void> {
    const desired = buildRevisionEnvSecret(deployment, revision.metadata.name, environment);
    const key = { namespace: revision.metadata.namespace ?? '', name: desired.metadata.name };
    // immutable: what an interrupted pass wrote stays
    const existing = await this.#client.find(SECRETS, key);
    if (existing && requireOwned(existing, revision)) return;
    try {
      const owner = { ref: RESOURCES.AgentRevision, object: revision };
      await applyOwned(this.#client, owner, { ref: SECRETS, desired, existing: undefined });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

function buildRevision(
  deployment: AgentDeployment,
  decision: Makeable,
  ingredients: RevisionIngredients,
): AgentRevision {
  const name = revisionName(deployment.metadata.name, decision.number);
  const spec: AgentRevisionSpec = {
    ...snapshot(deployment, decision, ingredients),
    deploymentName: deployment.metadata.name,
    deploymentWireName: wireName(deployment),
    tenantId: ingredients.tenantId,
    number: decision.number,
    envSecretName: revisionEnvSecretName(name),
    databaseSecretName: databaseSecretName(deployment.metadata.name),
    platformSecretName: platformSecretName(deployment.metadata.name),
    listenerName: ingredients.listenerName,
  };
  const revision: AgentRevision = {
    apiVersion: API_VERSION,
    kind: 'AgentRevision',
    metadata: {
      name,
      ...(deployment.metadata.namespace === undefined ? {} : { namespace: deployment.metadata.namespace }),
      annotations: { [ANNOTATION.id]: decision.id, [ANNOTATION.revisionHash]: ingredients.hash },
      ownerReferences: [controllerReference(RESOURCES.AgentDeployment, deployment)],
    },
    spec,
  };
  return { ...revision, metadata: { ...revision.metadata, labels: revisionLabels(revision) } };
}

type Snapshot = Pick<AgentRevisionSpec, 'source' | 'image' | 'imageUri' | 'resourceSpec' | 'redeployOf'>;

function snapshot({ spec }: AgentDeployment, decision: Makeable, { images }: RevisionIngredients): Snapshot {
  if (decision.kind === 'repeat') {
    const { source, image, imageUri, resourceSpec } = decision.of.spec;
    const redeployOf = decision.of.metadata.name;
    return { source, image, imageUri, redeployOf, ...(resourceSpec ? { resourceSpec } : {}) };
  }
  const imageUri = spec.sourceRevisionConfig.imageUri ?? '';
  const { resourceSpec } = spec.sourceConfig;
  return {
    source: spec.source,
    imageUri,
    image: pinImage(spec.source, imageUri, images),
    ...(resourceSpec ? { resourceSpec } : {}),
  };
}
