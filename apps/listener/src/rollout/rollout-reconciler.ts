import { applyManaged, type EventRecorder, isNotFound, type KubeClient, StatusWriter } from '#lib/kube';
import {
  addressOf,
  buildDeploymentService,
  buildRevisionDeployment,
  type PlatformSettings,
  wantedReplicas,
} from '#lib/manifests';
import { after, done, type Result, wait } from '#lib/reconcile';
import {
  type AgentRevision,
  CONDITION,
  DEPLOYMENTS,
  EVENT,
  findCondition,
  type ObjectKey,
  REASON,
  RESOURCES,
  type Service,
  SERVICES,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { refusalOf, type RevisionFailure } from './failure.js';
import { type NamespaceCaches, observeRollout } from './observe.js';
import { type PlannedRevision, planRollout, type RevisionFate, servedRevision } from './plan.js';
import { OWN_CONDITIONS, summarizeRevision } from './revision-status.js';
import { Wakefulness } from './wakefulness.js';
import type { RolloutPatience, RolloutWorld } from './world.js';

export interface RolloutDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly settings: PlatformSettings;
  readonly listenerName: string;
  readonly patience: RolloutPatience;
}

/** Nothing tells when an object that is not ours goes. */
const BLOCKED_MS = 10_000;
/** A cache that has not seen our last report yet. */
const BEHIND_MS = 500;

/** Pods that a revision of this fate should have; undefined: it has no workload at all. */
function replicasFor(fate: RevisionFate, revision: AgentRevision): number | undefined {
  switch (fate.kind) {
    case 'deploying':
    case 'serving':
    case 'retiring':
    case 'blocked':
      return wantedReplicas(revision);
    case 'standby':
    case 'suspended':
      return 0;
    case 'waiting':
    case 'superseded':
    case 'failed':
      return undefined;
    default:
      return fate satisfies never;
  }
}

function isSaid({ status }: AgentRevision, { reason, message }: RevisionFailure): boolean {
  const ready = findCondition(status?.conditions, CONDITION.ready);
  return ready?.reason === reason && ready.message === message;
}

/**
 * Carries out the revisions of one AgentDeployment: their workloads, the Service that points to the one that serves,
 * their statuses. Keyed by the deployment, because which revision serves is one decision about all of them.
 */
export class RolloutReconciler {
  readonly #caches: NamespaceCaches;
  readonly #deps: RolloutDependencies;
  readonly #status: StatusWriter;
  readonly #wakefulness = new Wakefulness();

  constructor(caches: NamespaceCaches, deps: RolloutDependencies) {
    this.#caches = caches;
    this.#deps = deps;
    this.#status = new StatusWriter(deps.client, { conditionTypes: OWN_CONDITIONS });
  }

  /** observe → decide → act → report. What is removed is removed last: its end must be on record before. */
  async reconcile(key: ObjectKey): Promise<Result> {
    const { clock, listenerName, patience } = this.#deps;
    const world = observeRollout(this.#caches, key, listenerName);
    if (!world || world.revisions.length === 0) return done();
    // who cannot see that a revision has failed would begin it anew
    if (world.revisions.some(({ revision }) => this.#status.isBehind(revision)))
      return wait(REASON.pending, BEHIND_MS);
    const now = clock.now();
    const plan = planRollout(world, now, { ...patience, awakeSinceMs: this.#wakefulness.look(now) });
    const revisions: PlannedRevision[] = [];
    for (const planned of plan.revisions)
      revisions.push(await this.#unlessBlocked(planned, () => this.#applyWorkload(planned)));
    const target = revisions.findIndex(({ world: { revision } }) => revision.metadata.name === plan.serving);
    const served = revisions[target];
    if (served && served.fate.kind !== 'blocked')
      revisions[target] = await this.#unlessBlocked(served, () =>
        this.#applyService(world, served.world.revision),
      );
    await this.#report(revisions, world.service, now);
    for (const planned of revisions) await this.#removeWorkload(planned);
    if (revisions.some(({ fate }) => fate.kind === 'blocked')) return after(BLOCKED_MS);
    return plan.lookAgainMs === undefined ? done() : after(plan.lookAgainMs);
  }

  /** The plan as it is after an action: what serves stays, whatever is refused to it; anything else may fail of it. */
  async #unlessBlocked(planned: PlannedRevision, act: () => Promise<void>): Promise<PlannedRevision> {
    try {
      await act();
      return planned;
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      const { revision } = planned.world;
      // what is blocked is tried again every few seconds: told once
      if (!isSaid(revision, refusal.failure))
        this.#deps.events.record(RESOURCES.AgentRevision, revision, { type: 'Warning', ...refusal.failure });
      const kind = planned.fate.kind === 'deploying' ? refusal.kind : 'blocked';
      return { ...planned, fate: { kind, failure: refusal.failure } };
    }
  }

  async #applyWorkload({ world: { revision, workload }, fate }: PlannedRevision): Promise<void> {
    const replicas = replicasFor(fate, revision);
    // one that never ran is not made just to be scaled to zero
    if (replicas === undefined || (replicas === 0 && !workload)) return;
    await applyManaged(
      this.#deps.client,
      { kind: 'reference', ref: RESOURCES.AgentRevision, object: revision },
      {
        ref: DEPLOYMENTS,
        desired: buildRevisionDeployment(revision, replicas, this.#deps.settings),
        existing: workload,
      },
    );
  }

  async #applyService(world: RolloutWorld, serving: AgentRevision): Promise<void> {
    const { client, events } = this.#deps;
    const applied = await applyManaged(
      client,
      { kind: 'reference', ref: RESOURCES.AgentDeployment, object: world.deployment },
      {
        ref: SERVICES,
        desired: buildDeploymentService(serving, serving.metadata.name),
        existing: world.service,
      },
    );
    if (servedRevision(world) === serving.metadata.name) return;
    events.record(RESOURCES.AgentDeployment, world.deployment, {
      type: 'Normal',
      reason: EVENT.trafficSwitched,
      message: `the Service points to revision ${serving.metadata.name}`,
    });
    await this.#caches.services.seen(applied);
  }

  async #report(
    revisions: readonly PlannedRevision[],
    service: Service | undefined,
    now: Date,
  ): Promise<void> {
    // the one that serves first: whoever reads in between finds two that are active and never none
    const serving = revisions.filter(({ fate }) => fate.kind === 'serving');
    for (const planned of new Set([...serving, ...revisions])) {
      const { revision } = planned.world;
      const written = await this.#status.apply(
        RESOURCES.AgentRevision,
        revision,
        summarizeRevision(planned, service && addressOf(service, this.#deps.settings.addresses), now),
        ['url'],
      );
      await this.#caches.revisions.seen(written);
    }
  }

  async #removeWorkload({ world: { revision, workload }, fate }: PlannedRevision): Promise<void> {
    if (!workload || replicasFor(fate, revision) !== undefined) return;
    const { client, events } = this.#deps;
    if (fate.kind === 'failed')
      events.record(RESOURCES.AgentRevision, revision, {
        type: 'Warning',
        reason: fate.failure.reason,
        message: fate.failure.message,
      });
    const { uid, name, namespace = '' } = workload.metadata;
    try {
      await client.delete(DEPLOYMENTS, { namespace, name }, uid === undefined ? {} : { uid });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
