import { errorText, TerminalError, WaitingError } from '#lib/errors';
import {
  addFinalizer,
  applyManaged,
  type EventRecorder,
  fromMapped,
  fromObjects,
  type Informer,
  type Informers,
  isForbidden,
  isDesiredChange,
  type KubeClient,
  removeFinalizer,
  type Source,
  StatusWriter,
} from '#lib/kube';
import { buildRevisionOutput, type ContainerOutput } from '#lib/manifests';
import { hasFinalizer } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  type AgentRevisionStatus,
  CONDITION,
  CONFIG_MAPS,
  EVENT,
  FINALIZER,
  findCondition,
  isConditionTrue,
  type ObjectKey,
  REASON,
  RESOURCES,
  type Secret,
  SECRETS,
} from '#lib/resources';
import { type HubEvent, LISTENER_CONDITIONS, type RevisionSecrets } from './hub.js';

const BY_DEPLOYMENT = 'deployment';
const SECRET_LOOK_MS = 2_000;
const RIGHTS_LOOK_MS = 500;
/** Optional fields of the status that must go when they have no value. */
const OWNED: readonly (keyof AgentRevisionStatus)[] = [
  'url',
  'workload',
  'imageVersion',
  'pinnedImage',
  'asleepSince',
  'wakeAt',
];

/** Part of the hub that concerns one place. */
export interface HubScope {
  /** Namespace of the resources. */
  readonly namespace: string;
  /** Namespace in which the revisions run; others are of another place of the same listener. */
  readonly placeNamespace: string;
}

/** The hub as one namespace of a cluster. */
export class HubCluster {
  readonly deployments: Informer<AgentDeployment>;
  /** Sources that wake the rollout of a deployment. */
  readonly sources: readonly Source[];
  readonly #revisions: Informer<AgentRevision>;
  readonly #status: StatusWriter;

  constructor(
    private readonly client: KubeClient,
    informers: Informers,
    private readonly events: Pick<EventRecorder, 'record'>,
    { namespace, placeNamespace }: HubScope,
  ) {
    this.#status = new StatusWriter(client, { conditionTypes: LISTENER_CONDITIONS });
    this.deployments = informers.of(RESOURCES.AgentDeployment, { namespace });
    this.#revisions = informers.of(RESOURCES.AgentRevision, { namespace });
    this.#revisions.addIndex(BY_DEPLOYMENT, ({ spec }) =>
      (spec.placeNamespace ?? namespace) === placeNamespace ? [spec.deploymentName] : [],
    );
    this.sources = [
      fromObjects(this.deployments, isDesiredChange),
      fromMapped(this.#revisions, ({ spec }) => [{ namespace, name: spec.deploymentName }]),
    ];
  }

  findDeployment(key: ObjectKey): AgentDeployment | undefined {
    return this.deployments.find(key);
  }

  /** All revisions under the name of a deployment, those of other owners and those being deleted included. */
  revisionsNamed({ name }: ObjectKey): readonly AgentRevision[] {
    return this.#revisions.byIndex(BY_DEPLOYMENT, name);
  }

  /** Revisions of a deployment whose fate is open, where failures of its passes are reported. */
  revisionsUnderWay(key: ObjectKey): readonly AgentRevision[] {
    return this.revisionsNamed(key).filter(({ status }) => {
      const isFinal = [CONDITION.failed, CONDITION.superseded].some((type) =>
        isConditionTrue(status?.conditions, type),
      );
      const isReplaced = findCondition(status?.conditions, CONDITION.active)?.status === 'False';
      return !isFinal && !isReplaced;
    });
  }

  /** True when the cache does not show the last report about this revision yet. */
  isBehind(revision: AgentRevision): boolean {
    return this.#status.isBehind(revision);
  }

  async report(revision: AgentRevision, status: AgentRevisionStatus): Promise<void> {
    await this.#revisions.seen(await this.#status.apply(RESOURCES.AgentRevision, revision, status, OWNED));
  }

  record(object: AgentDeployment | AgentRevision, event: HubEvent): void {
    if (isRevision(object)) this.events.record(RESOURCES.AgentRevision, object, event);
    else this.events.record(RESOURCES.AgentDeployment, object, event);
  }

  /** Keeps the output of a revision whose pods are about to go, in a ConfigMap that goes with it. */
  async keepOutput(revision: AgentRevision, outputs: readonly ContainerOutput[]): Promise<void> {
    if (outputs.length === 0) return;
    const owner = { kind: 'reference', ref: RESOURCES.AgentRevision, object: revision } as const;
    const desired = buildRevisionOutput(revision, outputs);
    try {
      await applyManaged(this.client, owner, { ref: CONFIG_MAPS, desired, existing: undefined });
    } catch (error) {
      // a ConfigMap of another owner must not keep pods that failed, nor one that a remote listener may not make again
      if (!(error instanceof TerminalError) && !isForbidden(error)) throw error;
      this.record(revision, {
        type: 'Warning',
        reason: EVENT.outputNotKept,
        message: `last output not kept: ${errorText(error)}`,
      });
    }
  }

  /** @throws WaitingError while one of them does not exist */
  async secretsOf(revision: AgentRevision): Promise<RevisionSecrets> {
    const { envSecretName, databaseSecretName, platformSecretName } = revision.spec;
    return {
      ofRevision: await this.#secret(revision, envSecretName),
      ofDeployment: [
        await this.#secret(revision, databaseSecretName),
        await this.#secret(revision, platformSecretName),
      ],
    };
  }

  /**
   * Puts the place's finalizer on, before anything is made for it in another cluster.
   * @throws WaitingError while the listener has no rights for this revision
   */
  async hold(revision: AgentRevision): Promise<void> {
    try {
      const held = await addFinalizer(this.client, RESOURCES.AgentRevision, revision, FINALIZER.place);
      await this.#revisions.seen(held);
    } catch (error) {
      if (isForbidden(error)) throw notYetAllowed(revision);
      throw error;
    }
  }

  /** Takes the finalizer off, once nothing is left in the other cluster. */
  async release(revision: AgentRevision): Promise<void> {
    await removeFinalizer(this.client, RESOURCES.AgentRevision, revision, FINALIZER.place);
  }

  /** True when the finalizer is on. */
  holds(revision: AgentRevision): boolean {
    return hasFinalizer(revision, FINALIZER.place);
  }

  async #secret({ metadata }: AgentRevision, name: string): Promise<Secret> {
    const secret = await this.client
      .find(SECRETS, { namespace: metadata.namespace ?? '', name })
      .catch((error: unknown) => {
        throw isForbidden(error) ? notYetAllowed({ metadata }) : error;
      });
    if (secret) return secret;
    throw new WaitingError(
      REASON.secretMissing,
      `Secret ${name} of revision ${metadata.name} does not exist`,
      SECRET_LOOK_MS,
    );
  }
}

/** The controller gives a remote listener its rights by name, after the revision was made. */
function notYetAllowed({ metadata }: Pick<AgentRevision, 'metadata'>): WaitingError {
  return new WaitingError(
    REASON.pending,
    `the account of the listener has no rights for revision ${metadata.name} yet`,
    RIGHTS_LOOK_MS,
  );
}

function isRevision(object: AgentDeployment | AgentRevision): object is AgentRevision {
  return object.kind === 'AgentRevision';
}

/** An event that people see on a resource. */
export type Hub = Omit<HubCluster, 'deployments' | 'revisionsUnderWay'>;
