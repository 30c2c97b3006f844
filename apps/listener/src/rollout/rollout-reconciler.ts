import {
  buildDeploymentService,
  buildQueueDeployment,
  buildRevisionDeployment,
  answeringRange,
  type PlatformSettings,
  queueRange,
  wantedQueueReplicas,
  wantedReplicas,
  type WorkloadReplicas,
} from '#lib/manifests';
import { WaitingError } from '#lib/errors';
import { after, done, type Result, wait } from '#lib/reconcile';
import {
  type AgentRevision,
  ANNOTATION,
  CONDITION,
  type Deployment,
  EVENT,
  findCondition,
  type ObjectKey,
  REASON,
  sleepNoteOf,
} from '#lib/resources';
import { metrics } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Hub } from '../hub/hub-cluster.js';
import type { Place } from '../place/place-cluster.js';
import { findTrouble, refusalOf, type RevisionFailure } from './failure.js';
import { askPods } from './ask-pods.js';
import { DeclaredVersions, holdOwners, releaseOwners } from './hold-owners.js';
import { observeRollout, servedBy } from './observe.js';
import { pinnedRevision, stampedRevision } from './pinned-image.js';
import { type PlannedRevision, planRollout, type RevisionFate } from './plan.js';
import { PodScaler, podsHeld, roomFor } from './pod-scaler.js';
import { isWorkloadReady, ReadySpans, Wakefulness } from './ready-spans.js';
import { endedWake, summarizeRevision } from './revision-status.js';
import { sleepText, unreportedMs } from './sleep.js';
import type { RevisionWorld, RolloutPatience, RolloutWorld } from './world.js';

export interface RolloutDependencies {
  readonly clock: Clock;
  readonly settings: PlatformSettings;
  readonly listenerName: string;
  readonly patience: RolloutPatience;
  /** Returns true when a cluster cannot be followed at present, so that its objects may be out of date. */
  readonly isBlind: () => boolean;
  /**
   * Interval in milliseconds at which Secrets of the hub are compared with their copies in another cluster.
   * Default 60,000.
   */
  readonly secretLookMs?: number;
}

/** Secrets are read by name, so that nothing wakes a deployment when one of its own changes. */
const SECRET_LOOK_MS = 60_000;

/** The deletion of another owner's object wakes nothing. */
const BLOCKED_MS = 10_000;
/** A cache that has not seen our last report yet. */
const BEHIND_MS = 500;
const CLEARING_MS = 1_000;
/** Grace that is long enough for pods to become ready after an outage that ended this program as well. */
const LONGEST_GRACE_MS = 30_000;

/** Pods that a revision of this fate should have; undefined: it has no workload at all. */
function replicasFor(fate: RevisionFate, revision: AgentRevision): number | undefined {
  switch (fate.kind) {
    case 'deploying':
    case 'held':
    case 'serving':
    case 'retiring':
    case 'warm':
    case 'blocked':
      return wantedReplicas(revision);
    case 'asleep':
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

/** Pods of the other revisions, which hold connections to the same database. */
function podsOfOthers(world: RevisionWorld, all: readonly PlannedRevision[]): number {
  return all
    .filter((one) => one.world !== world)
    .reduce((sum, one) => sum + podsHeld(one.world, (replicasFor(one.fate, one.world.revision) ?? 0) > 0), 0);
}

function isReported({ status }: AgentRevision, { reason, message }: RevisionFailure): boolean {
  const ready = findCondition(status?.conditions, CONDITION.ready);
  return ready?.reason === reason && ready.message === message;
}

/**
 * Runs the revisions of one AgentDeployment: their workloads, the Service that points to the one that serves, their
 * statuses. Keyed by the deployment, because which revision serves is one decision about all of them. It reads and
 * reports in the hub and writes in the place, which may be one cluster or two.
 */
export class RolloutReconciler {
  readonly #hub: Hub;
  readonly #place: Place;
  readonly #deps: RolloutDependencies;
  readonly #wakefulness: Wakefulness;
  readonly #scaler = new PodScaler();
  readonly #readySpans = new ReadySpans();
  readonly #versions = new DeclaredVersions();
  /** Times at which this program copied the Secrets of a revision into the place, by its uid. */
  readonly #copied = new Map<string, number>();

  constructor(hub: Hub, place: Place, deps: RolloutDependencies) {
    this.#hub = hub;
    this.#place = place;
    this.#deps = deps;
    this.#wakefulness = new Wakefulness(Math.min(LONGEST_GRACE_MS, deps.patience.readinessMs));
  }

  /** release → observe → hold → ask → decide → act → report. Removals come last: their cause must be on record before. */
  async reconcile(key: ObjectKey): Promise<Result> {
    const { clock, listenerName, patience } = this.#deps;
    const isClearing = await releaseOwners(this.#hub, this.#place, key, listenerName);
    const seen = observeRollout(this.#hub, this.#place, key, listenerName);
    if (!seen || seen.revisions.length === 0) {
      this.#readySpans.forget(key);
      this.#versions.forget(key);
      await this.#place.forget(key);
      return isClearing ? wait(REASON.deleting, CLEARING_MS) : done();
    }
    // a pass that cannot see that a revision has failed would begin it anew
    if (seen.revisions.some(({ revision }) => this.#hub.isBehind(revision)))
      return wait(REASON.pending, BEHIND_MS);
    if (await holdOwners(this.#hub, this.#place, seen)) return after(0);
    const versioned = await this.#versions.look(key, { ...seen, heldBy: this.#place.heldBy }, this.#place);
    const asked = await askPods(versioned, this.#place, clock.now());
    const world = this.#readySpans.look(key, asked, clock.monotonicMs());
    const now = clock.now();
    const awake = this.#wakefulness.look(now, this.#deps.isBlind());
    const plan = planRollout(world, now, { ...patience, ...awake });
    if (plan.fallen) await this.#reportFall(world, plan.fallen, now);
    await this.#reportSleep(world, plan.revisions, now);
    const revisions = await this.#act(world, plan.revisions, plan.serving);
    const lateMs = await this.#report(world, revisions, now);
    for (const planned of revisions) await this.#removeWorkload(planned);
    if (isClearing) return after(CLEARING_MS);
    if (revisions.some(({ fate }) => fate.kind === 'blocked')) return after(BLOCKED_MS);
    const lookMs = Math.min(plan.lookAgainMs ?? Number.POSITIVE_INFINITY, lateMs, this.#secretLookMs());
    return Number.isFinite(lookMs) ? after(lookMs) : done();
  }

  /** Pods in the hub's own cluster have the Secrets themselves. */
  #secretLookMs(): number {
    if (this.#place.ownership === 'reference') return Number.POSITIVE_INFINITY;
    return this.#deps.secretLookMs ?? SECRET_LOOK_MS;
  }

  /** The plan as it is after workloads and Service were applied. */
  async #act(
    world: RolloutWorld,
    planned: readonly PlannedRevision[],
    serving: string | undefined,
  ): Promise<readonly PlannedRevision[]> {
    const revisions: PlannedRevision[] = [];
    for (const one of planned)
      revisions.push(await this.#unlessRefused(one, () => this.#applyWorkload(world, one, planned)));
    const target = revisions.findIndex(({ world: { revision } }) => revision.metadata.name === serving);
    const served = revisions[target];
    if (served && served.fate.kind !== 'blocked')
      revisions[target] = await this.#unlessRefused(served, async () => {
        await this.#applyService(world, served);
        return served;
      });
    return revisions;
  }

  /**
   * The plan after an action: a revision that serves continues when it is refused, any other may fail for it.
   */
  async #unlessRefused(
    planned: PlannedRevision,
    act: () => Promise<PlannedRevision>,
  ): Promise<PlannedRevision> {
    try {
      return await act();
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      const { revision } = planned.world;
      // a blocked revision is tried again every few seconds and reported once
      if (!isReported(revision, refusal.failure))
        this.#hub.record(revision, { type: 'Warning', ...refusal.failure });
      const isUnderWay = planned.fate.kind === 'deploying' || planned.fate.kind === 'held';
      const kind = isUnderWay ? refusal.kind : 'blocked';
      return { ...planned, fate: { kind, failure: refusal.failure } };
    }
  }

  /** @returns the plan with the Deployment that starts pods, which the cache does not show yet */
  async #applyWorkload(
    world: RolloutWorld,
    one: PlannedRevision,
    all: readonly PlannedRevision[],
  ): Promise<PlannedRevision> {
    const { world: own, fate } = one;
    const { revision, origin, workload, lentTo } = own;
    const replicas = replicasFor(fate, revision);
    // a revision that never ran gets no Deployment just to be scaled to zero
    if (replicas === undefined || lentTo !== undefined || (replicas === 0 && !workload)) return one;
    const mark = world.deployment.metadata.annotations?.[ANNOTATION.database];
    // new pods are made for the new URI, which a copy from before does not have
    if (workload?.spec.template.metadata?.annotations?.[ANNOTATION.database] !== mark)
      this.#copied.delete(origin.metadata.uid ?? '');
    await this.#copySecrets(world, origin);
    const placed = stampedRevision(pinnedRevision(this.#place.placed(origin), own), own, world.deployment);
    const connections = world.deployment.status?.databaseConnections;
    const answering = replicas === 0 ? 0 : this.#answeringReplicas(one, all, connections);
    const { settings } = this.#deps;
    const desired = buildRevisionDeployment(
      placed,
      this.#unlessAutoscaled(workload, answering),
      settings,
      mark,
    );
    const applied = await this.#place.applyWorkload(origin, desired, workload);
    const next = workload?.spec.replicas === 0 ? { ...one, world: { ...own, workload: applied } } : one;
    const queueReplicas = this.#queueReplicas(one, all, connections);
    if (queueReplicas === undefined) return next;
    const taking = this.#unlessAutoscaled(own.queue, replicas === 0 ? 0 : queueReplicas);
    const queue = buildQueueDeployment(placed, taking, settings, mark);
    await this.#place.applyWorkload(origin, queue, own.queue);
    return next;
  }

  /** An autoscaler of the user's own has the number of a Deployment that is to have pods and has some; none wakes one. */
  #unlessAutoscaled(workload: Deployment | undefined, replicas: number): WorkloadReplicas {
    const hasPods = replicas > 0 && (workload?.spec.replicas ?? 0) > 0;
    return workload && hasPods && this.#place.isAutoscaled(workload) ? 'autoscaled' : replicas;
  }

  /** Pods that take runs of a revision that has pods: as its runs ask for while it serves, the fewest otherwise. */
  #queueReplicas(
    { world, fate }: PlannedRevision,
    all: readonly PlannedRevision[],
    connections: number | undefined,
  ): number | undefined {
    const { origin, queue, load } = world;
    const { uid = '' } = origin.metadata;
    const range = queueRange(origin);
    if (!range || fate.kind !== 'serving') this.#scaler.forget(uid);
    const current = queue?.spec.replicas ?? range?.min ?? 0;
    // connections are still open
    if (range && fate.kind === 'retiring') return Math.max(range.min, Math.min(range.max, current));
    if (!range || fate.kind !== 'serving') return range?.min;
    const answering = Math.max(wantedReplicas(origin), world.workload?.spec.replicas ?? 0);
    const room = roomFor(origin, answering, podsOfOthers(world, all), connections);
    return this.#scaler.decide(uid, { current, range, room, load }, this.#deps.clock.monotonicMs());
  }

  /**
   * Pods that answer HTTP of a revision that has pods: as what they have to do asks for while it serves. One that is to
   * take over begins with as many as serve now.
   */
  #answeringReplicas(
    { world, fate }: PlannedRevision,
    all: readonly PlannedRevision[],
    connections: number | undefined,
  ): number {
    const { origin, workload, queue, answeringLoad } = world;
    const range = answeringRange(origin);
    const key = `${origin.metadata.uid ?? ''}/http`;
    if (range.min === range.max) return range.min;
    const within = (pods: number): number => Math.max(range.min, Math.min(range.max, pods));
    const current = workload?.spec.replicas ?? 0;
    if (fate.kind !== 'serving') this.#scaler.forget(key);
    if (fate.kind === 'retiring') return within(current);
    const ofQueue = Math.max(wantedQueueReplicas(origin) ?? 0, queue?.spec.replicas ?? 0);
    const room = roomFor(origin, ofQueue, podsOfOthers(world, all), connections);
    if (fate.kind === 'deploying' || fate.kind === 'held') {
      const served = all.find((one) => one.fate.kind === 'serving')?.world.workload?.spec.replicas ?? 0;
      // limited by the connections that the serving pods leave: they keep running until it takes over
      return within(Math.max(current, Math.min(served, room)));
    }
    if (fate.kind !== 'serving') return range.min;
    // runs are the queue's where there is one
    const load =
      answeringLoad && queueRange(origin) ? { ...answeringLoad, waiting: 0, atWork: 0 } : answeringLoad;
    const coresOfPod = origin.spec.resourceSpec?.cpu;
    const question = { current: Math.max(1, current), range, room, load, coresOfPod };
    return this.#scaler.decide(key, question, this.#deps.clock.monotonicMs());
  }

  /**
   * Copies Secrets for pods in another cluster; in the hub's own cluster they find the Secrets themselves.
   */
  async #copySecrets({ deployment }: RolloutWorld, revision: AgentRevision): Promise<void> {
    const { uid = '' } = revision.metadata;
    if (this.#place.ownership === 'reference') return;
    const now = this.#deps.clock.monotonicMs();
    const copiedAt = this.#copied.get(uid);
    if (copiedAt !== undefined && now - copiedAt < this.#secretLookMs()) return;
    try {
      await this.#place.applySecrets(deployment, revision, await this.#hub.secretsOf(revision));
    } catch (error) {
      // one that is missing for a while takes nothing from pods that have a copy of it
      if (copiedAt === undefined || !(error instanceof WaitingError)) throw error;
    }
    this.#copied.set(uid, now);
  }

  async #applyService(
    world: RolloutWorld,
    { world: { revision, origin }, fate }: PlannedRevision,
  ): Promise<void> {
    const { deployment, service } = world;
    const sleep = 'sleep' in fate ? fate.sleep : undefined;
    const note = sleep?.kind === 'awake' ? undefined : sleep?.note;
    const holder = note && (await this.#place.holderOf(deployment));
    const placed = this.#place.placed(revision);
    const desired = buildDeploymentService(placed, origin.metadata.name, note, holder);
    await this.#place.applyService(deployment, desired, service);
    const { name } = revision.metadata;
    if (servedBy(service)?.revision === name) return;
    const message = `the Service points to revision ${name}`;
    this.#hub.record(deployment, { type: 'Normal', reason: EVENT.trafficSwitched, message });
    if (sleep?.kind === 'awake' && sleep.because !== undefined)
      this.#hub.record(deployment, {
        type: 'Warning',
        reason: EVENT.fieldsIgnored,
        message: `${name}: ${sleep.because}`,
      });
  }

  /** Reports before the Service moves: the next pass could not tell why it did. */
  async #reportFall({ deployment }: RolloutWorld, fallen: PlannedRevision, now: Date): Promise<void> {
    const { fate } = fallen;
    const { revision } = fallen.world;
    if (fate.kind !== 'failed') return;
    await this.#hub.report(revision, summarizeRevision(fallen, undefined, now));
    const { name } = revision.metadata;
    const message = `the Service goes back to ${fate.servesInstead ?? 'no revision'}: ${name} failed: ${fate.failure.message}`;
    this.#hub.record(deployment, { type: 'Warning', reason: EVENT.rolledBack, message });
  }

  /** Reports before the last pod ends: only this records when the deployment must wake. */
  async #reportSleep(
    { deployment }: RolloutWorld,
    revisions: readonly PlannedRevision[],
    now: Date,
  ): Promise<void> {
    const service = this.#place.findService(deployment);
    for (const planned of revisions) {
      const { fate, world } = planned;
      const { revision } = world;
      const { name } = revision.metadata;
      if (fate.kind === 'asleep' && world.workload?.spec.replicas !== 0) {
        await this.#hub.report(
          revision,
          summarizeRevision(planned, service && this.#place.addressOf(service), now),
        );
        const message = `${name}: ${sleepText(fate.sleep)}`;
        this.#hub.record(deployment, { type: 'Normal', reason: EVENT.fellAsleep, message });
      }
      if (
        fate.kind === 'serving' &&
        fate.sleep.kind === 'waking' &&
        revision.status?.asleepSince !== undefined &&
        // the first pass of this wake
        (service && sleepNoteOf(service))?.wakingSince === undefined
      ) {
        const message = `${name}: ${sleepText(fate.sleep)}`;
        this.#hub.record(deployment, { type: 'Normal', reason: EVENT.woken, message });
      }
    }
  }

  /** @returns milliseconds until the next look, where a start is reported then */
  async #report(world: RolloutWorld, revisions: readonly PlannedRevision[], now: Date): Promise<number> {
    let lateMs = Number.POSITIVE_INFINITY;
    const service = this.#place.findService(world.deployment);
    const address = service && this.#place.addressOf(service);
    // the one that serves first: a reader in between finds two that are active and never none
    const serving = revisions.filter(({ fate }) => fate.kind === 'serving' || fate.kind === 'asleep');
    for (const planned of serving) this.#warn(world, planned);
    for (const planned of new Set([...serving, ...revisions])) {
      const leftMs = 'sleep' in planned.fate ? unreportedMs(planned.fate.sleep, planned.world, now) : 0;
      if (leftMs > 0) {
        lateMs = Math.min(lateMs, leftMs);
        continue;
      }
      await this.#hub.report(planned.world.revision, summarizeRevision(planned, address, now));
      const wake = endedWake(planned.fate);
      if (wake) metrics.wakeDuration.observe(wake.seconds);
    }
    return lateMs;
  }

  /** Once for each trouble of the revision that serves, and before its status has it. */
  #warn({ deployment }: RolloutWorld, { world }: PlannedRevision): void {
    const trouble = isWorkloadReady(world) ? undefined : findTrouble(world);
    if (!trouble || isReported(world.revision, trouble)) return;
    const { reason, message } = trouble;
    for (const object of [world.revision, deployment])
      this.#hub.record(object, {
        type: 'Warning',
        reason,
        message: `${world.revision.metadata.name}: ${message}`,
      });
  }

  async #removeWorkload({
    world: { revision, origin, workload, queue, pods },
    fate,
  }: PlannedRevision): Promise<void> {
    if (!workload || replicasFor(fate, revision) !== undefined) return;
    if (fate.kind === 'failed') {
      this.#hub.record(revision, { type: 'Warning', ...fate.failure });
      await this.#hub.keepOutput(revision, await this.#place.outputOf(pods));
    }
    // the Deployment of the revision that this one repeats goes back to that one
    if (origin !== revision) return;
    await this.#place.removeWorkload(workload);
    if (queue) await this.#place.removeWorkload(queue);
  }
}
