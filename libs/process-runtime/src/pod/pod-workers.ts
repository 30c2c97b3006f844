import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorText } from '#lib/errors';
import type { Change, Informer } from '#lib/kube';
import { keyOf, keyText, type Pod } from '#lib/resources';
import type { NodeContext } from '../context/node-context.js';
import { within } from '../pace.js';
import { removeLeftFiles } from '../strays/remove-left-files.js';
import { foreignPod, inOrderOfArrival, isOver, type PodRejection, rejectionOf } from './pod-rejection.js';
import { removePodFolder } from '../pod-files/pod-files.js';
import { PodWorker } from './pod-worker.js';

const FIRST_REPORT_MS = 5_000;
/** Pauses between looks for leftover files double from the first to the last. */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 300_000;

/** The pods of this node: one worker for each uid. A namesake waits for the one before it to end. */
export class PodWorkers {
  readonly #workers = new Map<string, PodWorker>();
  /** Removals of files in progress, by the user's number. */
  readonly #tidying = new Map<number, Promise<boolean>>();
  /** Cancels the next look for files of a user. */
  readonly #nextLooks = new Map<number, () => void>();
  readonly #followers = new Set<(pod: Pod) => void>();
  #informer: Informer<Pod> | undefined;
  #isStopping = false;

  constructor(private readonly context: NodeContext) {}

  /**
   * Follows the informer, which must be complete; resolves when the API server knows the state of the pods.
   */
  async start(informer: Informer<Pod>): Promise<void> {
    await this.#removeOrphans(new Set(informer.list().map(({ metadata }) => metadata.uid ?? '')));
    this.#informer = informer;
    for (const pod of inOrderOfArrival(informer.list())) this.#begin(pod);
    informer.on((change) => this.#apply(change));
    const reports = [...this.#workers.values()].map(({ firstReport }) => firstReport);
    await within(Promise.all(reports), FIRST_REPORT_MS, this.context.clock);
  }

  find(namespace: string, name: string): PodWorker | undefined {
    const key = keyText({ namespace, name });
    const found = [...this.#workers.values()].filter(({ pod }) => keyText(keyOf(pod)) === key);
    return found.at(-1);
  }

  /** Real ports of a pod that is ready, by container port. */
  servingPortsOf({ metadata: { uid = '' } }: Pod): Readonly<Record<string, number>> | undefined {
    return this.#workers.get(uid)?.servingPorts;
  }

  /** Calls back when a pod has become ready. */
  onServing(follower: (pod: Pod) => void): void {
    this.#followers.add(follower);
  }

  /** Ends all processes; the pods stay bound to this node and continue when it is back. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await Promise.allSettled([...this.#workers.values()].map((worker) => worker.stop(graceMs)));
  }

  /**
   * Ends processes of users that the start of the node had no time for: per user once none of its pods runs,
   * however long it takes.
   */
  async endLeft(uids: readonly number[]): Promise<void> {
    for (const uid of uids) await this.#endProcesses(uid, () => !this.#isStopping);
  }

  #apply(change: Change<Pod>): void {
    const { object } = change;
    const known = this.#workers.get(object.metadata.uid ?? '');
    if (change.kind === 'deleted') known?.vanish();
    else if (known) known.update(object);
    else if (!this.#isStopping) this.#begin(object);
  }

  #begin(pod: Pod): void {
    const { namespace = '', name, uid = '' } = pod.metadata;
    const previous = this.find(namespace, name)?.ended.catch(() => undefined) ?? Promise.resolve();
    const worker = new PodWorker(this.context, pod, {
      previous,
      rejection: this.#rejectionOf(pod),
      onIdle: (user) => (user.isOwn ? this.#endProcesses(user.uid) : Promise.resolve()),
      onChange: () => {
        if (worker.servingPorts) for (const follower of this.#followers) follower(worker.pod);
      },
      whenTidy: async (user) => void (user.isOwn && (await this.#tidying.get(user.uid))),
    });
    this.#workers.set(uid, worker);
    worker.ended
      .catch((error: unknown) => this.context.log.error({ pod: name, err: error }, 'pod worker failed'))
      .finally(() => this.#workers.delete(uid));
  }

  /**
   * Judged by what the API server said last, as the scheduler does: by what runs here, a pod would be rejected that the
   * scheduler sent into the place of one that is deleted but not yet tidied up.
   */
  #rejectionOf(pod: Pod): PodRejection | undefined {
    if (isOver(pod)) return undefined;
    const foreign = this.context.isJoined ? foreignPod(pod) : undefined;
    if (foreign) return foreign;
    const others = [...this.#workers.values()].flatMap((worker) => {
      const known = this.#informer?.find(keyOf(worker.pod));
      const isHere = known?.metadata.uid === worker.pod.metadata.uid && !worker.isRejected;
      return known && isHere && !isOver(known) ? [known] : [];
    });
    return rejectionOf(pod, others, this.context.allocatable);
  }

  /** Ends the leftover processes of a user. They can only be told from its pods when none of these runs. */
  async #endProcesses(uid: number, isWanted = (): boolean => true): Promise<void> {
    const { users, log, clock } = this.context;
    const isIdle = (): boolean =>
      isWanted() && ![...this.#workers.values()].some((other) => other.mayRunAs(uid));
    if (!isIdle()) return;
    try {
      const { ended, unasked } = await users.endProcesses({ uid, clock, isIdle });
      if (ended > 0) log.warn({ uid, processes: ended }, 'ended processes that pods left behind');
      if (unasked.length > 0)
        log.warn({ uid }, 'leaving processes of a user running: reading which node they belong to failed');
      void this.#tidy(uid, () => isIdle() && !this.#isStopping);
    } catch (error) {
      log.error({ uid, problem: errorText(error) }, 'ending processes that pods left behind failed');
    }
  }

  /**
   * Removes the leftovers of this user's pods. No pod of the user begins during a look, so that one look finds
   * those of all. Looks again later where it was cut short, until a pod of the user runs: its end asks anew.
   */
  async #tidy(uid: number, isWanted: () => boolean, pauseMs = FIRST_PAUSE_MS): Promise<void> {
    if (this.#tidying.has(uid) || !isWanted()) return;
    this.#nextLooks.get(uid)?.();
    this.#nextLooks.delete(uid);
    const { podsFolder, clock } = this.context;
    const look = removeLeftFiles(uid, dirname(podsFolder), clock).catch(() => false);
    this.#tidying.set(uid, look);
    const isDone = await look;
    this.#tidying.delete(uid);
    if (isDone) return;
    const lookAgain = (): void => void this.#tidy(uid, isWanted, Math.min(pauseMs * 2, LAST_PAUSE_MS));
    this.#nextLooks.set(uid, clock.after(pauseMs, lookAgain));
  }

  /** Folders of pods that were deleted while the node was away. */
  async #removeOrphans(uids: ReadonlySet<string>): Promise<void> {
    const { podsFolder, log } = this.context;
    if (!existsSync(podsFolder)) return;
    for (const uid of readdirSync(podsFolder).filter((name) => !uids.has(name)))
      await removePodFolder(join(podsFolder, uid)).catch((error: unknown) =>
        log.warn({ problem: errorText(error), uid }, 'removing the folder of a deleted pod failed'),
      );
  }
}
