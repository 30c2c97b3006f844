import { existsSync } from 'node:fs';
import { isConflict } from '#lib/kube';
import { errorText } from '#lib/errors';
import { ANNOTATION, type ContainerStatus, keyOf, type Pod, type PodContainer, PODS } from '#lib/resources';
import { isAccountMounted } from '../account/is-account-mounted.js';
import { PodKubeconfig } from '../account/pod-kubeconfig.js';
import { ContainerRunner } from '../container/container-runner.js';
import type { NodeContext } from '../context/node-context.js';
import { runningOf, strayText } from '../strays/end-strays.js';
import { nodeUser, type PodUser } from '../user/pod-user.js';
import { within } from '../pace.js';
import type { ContainerLog } from '../log/log-server.js';
import { refusalText, refusedFields } from '../pod-fields/refused-fields.js';
import { PodFiles } from '../pod-files/pod-files.js';
import { isOver, type PodRejection } from './pod-rejection.js';
import { namespaceUid, StatusReporter } from './status-reporter.js';
import { PodContainers, type RestartPolicy } from './pod-containers.js';
import { withoutMachineFolders } from '../volume/volume.js';
import { isServing, type PodView, summarizePod } from './summarize-pod.js';

/** Reason why a pod ends. */
type Ending =
  /** Its object is marked for deletion. */
  | { readonly kind: 'deleted' }
  /** Its object was deleted by force. */
  | { readonly kind: 'vanished' }
  /** The node stops; the pod stays bound to it. */
  | { readonly kind: 'node-stops'; readonly graceMs: number };

/** A pod that was deleted by force has no grace, but a second to close files costs little. */
const VANISHED_GRACE_MS = 2_000;
const RETRY_MS = 1_000;
interface PodWorkerOptions {
  /** Resolves when a namesake that ran here before has ended. */
  readonly previous: Promise<void>;
  /** Reason why the node does not take the pod. */
  readonly rejection: PodRejection | undefined;
  /** No container of the pod runs any more, nor will. */
  readonly onIdle: (user: PodUser) => Promise<void>;
  /** Resolves when nothing is removed any more that pods of the user left. */
  readonly whenTidy: (user: PodUser) => Promise<void>;
  /** A container of the pod began, became ready or not, or ended. */
  readonly onChange: () => void;
}

const NOT_SUPPORTED = 'NotSupported';

/**
 * One pod on this machine, from the moment it is bound to the node to its end.
 *
 * - **rejected**: the node lacks capacity for it, so that nothing is started; Failed → completed
 * - **refused**: a field of its spec cannot be honoured, so that nothing is started; Failed when its policy
 * allows an end,
 *   else Pending with the reason → completed
 * - **preparing**: folder, ports and (when mounted) the service account's kubeconfig are made → initializing
 * - **initializing**: init containers one after the other, of sidecars among them only the start; one that
 * fails finally
 *   → completed → else running
 * - **running**: containers side by side, each restarted by the pod's policy; all ended finally → completed;
 * longer than
 *   `activeDeadlineSeconds` → its containers are ended, phase Failed → completed
 * - **completed**: phase Succeeded or Failed, waits for deletion
 * - **ending**, from any of these: deletion gives containers their grace, then the object is removed with
 * grace 0 and the
 *   uid as precondition; an object that vanished is not written to any more; a stopping node leaves the
 * object alone
 *
 * A pod whose status is final when the node first sees it begins as completed.
 */
export class PodWorker {
  readonly #context: NodeContext;
  /** Undefined until it is known which namespace the pod is in. */
  #user: PodUser | Error | undefined;
  readonly #rejection: PodRejection | undefined;
  readonly #files: PodFiles;
  readonly #reporter: StatusReporter;
  readonly #kubeconfig: PodKubeconfig;
  readonly #startTime: Date;
  readonly #containers: PodContainers;
  readonly #ending = Promise.withResolvers<Ending>();
  readonly #endingSignal = new AbortController();
  readonly #firstReport = Promise.withResolvers<void>();
  /** Resolves when nothing of the pod runs any more and nothing is left to write. */
  readonly ended: Promise<void>;
  #pod: Pod;
  #cause: Ending | undefined;
  #verdict: PodView['verdict'];
  #refusal: string | undefined;
  #ports: Record<string, number> = {};
  #kubeconfigPath: string | undefined;
  #graceMs = Number.POSITIVE_INFINITY;
  #isVanished = false;
  readonly #nodeStops = new AbortController();
  readonly #onIdle: (user: PodUser) => Promise<void>;
  readonly #whenTidy: (user: PodUser) => Promise<void>;
  readonly #onChange: () => void;
  #isIdle = false;

  constructor(context: NodeContext, pod: Pod, options: PodWorkerOptions) {
    const { previous, rejection, onIdle, whenTidy, onChange } = options;
    this.#context = context;
    this.#rejection = rejection;
    this.#onIdle = onIdle;
    this.#whenTidy = whenTidy;
    this.#onChange = onChange;
    this.#pod = pod;
    this.#files = new PodFiles(context.podsFolder, pod.metadata.uid ?? '', () => this.#runningUser);
    this.#kubeconfig = new PodKubeconfig(this.#files, context);
    this.#startTime = pod.status?.startTime ? new Date(pod.status.startTime) : context.clock.now();
    this.#reporter = new StatusReporter({
      ...context,
      pod: () => this.#pod,
      status: () => summarizePod(this.#pod, this.#view(), context.clock.now()),
      annotations: () => ({ [ANNOTATION.loopbackPorts]: JSON.stringify(this.#ports) }),
    });
    this.#containers = new PodContainers(pod, context.clock, (...of) => this.#runner(...of));
    this.ended = previous.then(() => this.#live());
    this.update(pod);
  }

  get isRejected(): boolean {
    return this.#rejection !== undefined;
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** Resolves when the API server has heard of the pod's state on this node. */
  get firstReport(): Promise<void> {
    return this.#firstReport.promise;
  }

  /** The object changed. */
  update(pod: Pod): void {
    this.#pod = pod;
    this.#reporter.observe(pod);
    if (pod.metadata.deletionTimestamp === undefined) return;
    const graceMs = deletionGraceMs(pod);
    // a second deletion may shorten the grace of the first
    if (this.#cause?.kind === 'deleted' && graceMs < this.#graceMs) void this.#stopContainers(graceMs);
    this.#end({ kind: 'deleted' });
  }

  /** The object was deleted. */
  vanish(): void {
    this.#isVanished = true;
    this.#reporter.close();
    if (this.#cause) void this.#stopContainers(VANISHED_GRACE_MS);
    this.#end({ kind: 'vanished' });
  }

  /** The node stops. */
  async stop(graceMs: number): Promise<void> {
    this.#nodeStops.abort(new Error('the node is stopping'));
    this.#end({ kind: 'node-stops', graceMs });
    await this.ended;
  }

  /** Container port → real port while the pod is ready, which the API server hears a moment later. */
  get servingPorts(): Readonly<Record<string, number>> | undefined {
    return isServing(this.#pod, this.#view()) ? this.#ports : undefined;
  }

  /** True when processes of the pod may run as this user, now or later. */
  mayRunAs(uid: number): boolean {
    return !this.#isIdle && this.#runningUser.uid === uid;
  }

  /** Undefined for a container that the pod does not have. */
  findLog(container: string): ContainerLog | undefined {
    return this.#containers.all.find(({ view }) => view.name === container)?.log;
  }

  #runner(
    container: PodContainer,
    statuses: readonly ContainerStatus[] | undefined,
    restartPolicy: RestartPolicy,
  ): ContainerRunner {
    return new ContainerRunner({
      context: this.#context,
      pod: () => this.#pod,
      container,
      surroundings: () => ({
        user: this.#runningUser,
        files: this.#files,
        ports: this.#ports,
        kubeconfig: this.#kubeconfigPath,
      }),
      beforeRestart: () => this.#leaveTakenPorts(container),
      restartPolicy,
      onChange: () => {
        this.#containers.changed();
        this.#reporter.report();
        this.#onChange();
      },
      before: statuses?.find(({ name }) => name === container.name),
      wasStarted: existsSync(this.#files.processFile(container.name)),
    });
  }

  /** User that runs the pod. Without a user of its own nothing is started. */
  get #runningUser(): PodUser {
    return this.#user === undefined || this.#user instanceof Error ? nodeUser() : this.#user;
  }

  #view(): PodView {
    return {
      startTime: this.#startTime,
      init: this.#containers.initViews,
      containers: this.#containers.views,
      ...(this.#verdict ? { verdict: this.#verdict } : {}),
      rejection: this.#rejection,
      refusal: this.#refusal,
      isTerminating: this.#pod.metadata.deletionTimestamp !== undefined,
    };
  }

  #end(cause: Ending): void {
    // a deletion that comes while the node stops is carried out by the node's next life
    this.#cause ??= cause;
    this.#endingSignal.abort();
    this.#ending.resolve(cause);
  }

  async #live(): Promise<void> {
    if (isOver(this.#pod)) this.#firstReport.resolve();
    const work = isOver(this.#pod) ? Promise.resolve() : this.#work();
    const cancelDeadline = this.#watchDeadline();
    const isCompleted = await Promise.race([work.then(() => true), this.#ending.promise.then(() => false)]);
    cancelDeadline();
    if (isCompleted) await this.#rest();
    const cause = await this.#ending.promise;
    if (!isCompleted) {
      const isLost = cause.kind === 'node-stops' && this.#pod.spec.restartPolicy !== 'Always';
      if (isLost)
        this.#verdict ??= { reason: 'NodeShutdown', message: 'The node stopped while the pod ran.' };
      await this.#stopContainers(graceOf(cause, this.#pod));
      await work;
      await this.#rest();
    }
    this.#kubeconfig.stop();
    await this.#finish(cause);
  }

  /** Resolves when all containers have ended for good; never rejects. */
  async #work(): Promise<void> {
    if (this.#rejection) return this.#reportUnstarted(this.#rejection);
    // each is a request of its own
    this.#containers.readAhead();
    await this.#chooseUser();
    if (this.#cause || this.#isRefused()) return;
    await this.#awaitStrays();
    await this.#whenTidy(this.#runningUser);
    await this.#prepare();
    await this.#containers.run(this.#endingSignal.signal, specGraceMs(this.#pod));
    this.#reporter.report();
  }

  async #chooseUser(): Promise<void> {
    const { users, clock, log } = this.#context;
    while (!this.#cause) {
      try {
        const namespace = users.areOwn ? await namespaceUid(this.#context, this.#pod) : undefined;
        this.#user = userOf(this.#context, this.#pod, namespace);
        return;
      } catch (error) {
        log.warn(
          { pod: this.#pod.metadata.name, problem: errorText(error) },
          'reading the namespace of a pod failed, retrying',
        );
        await within(this.#ending.promise, RETRY_MS, clock);
      }
    }
  }

  /** Says so where the spec asks for what a process cannot have: nothing of it is started then. */
  #isRefused(): boolean {
    const hasMounts = this.#context.mountProblem === undefined;
    const pod = hasMounts ? this.#pod : withoutMachineFolders(this.#pod);
    const refused = refusedFields(pod, { ...this.#runningUser, hasMounts });
    if (pod !== this.#pod)
      this.#context.events.record(PODS, this.#pod, {
        type: 'Normal',
        reason: 'MachineFolders',
        message:
          '/tmp and /dev/shm are those of the machine, as its processes have no mounts of their own: files that the pod leaves there outlive it',
      });
    if (refused.length === 0 && !(this.#user instanceof Error)) return false;
    const message = this.#user instanceof Error ? this.#user.message : refusalText(refused);
    this.#refusal = message;
    // a pod that may end does: a Job learns of it; one that always runs would be made again and again
    if ((this.#pod.spec.restartPolicy ?? 'Always') !== 'Always')
      this.#verdict = { reason: NOT_SUPPORTED, message };
    for (const runner of this.#containers.all) runner.refuse(message);
    this.#reportUnstarted({ reason: NOT_SUPPORTED, message });
    return true;
  }

  #reportUnstarted({ reason, message }: PodRejection): void {
    this.#context.events.record(PODS, this.#pod, { type: 'Warning', reason, message });
    this.#reporter.report();
    void this.#reporter.flush(RETRY_MS).then(() => this.#firstReport.resolve());
  }

  /** No second copy of a container runs beside what an earlier node left of it, which may hold its files and ports. */
  async #awaitStrays(): Promise<void> {
    const { strays, clock } = this.#context;
    for (let tries = 0; !this.#cause; tries++) {
      const left = runningOf(strays, this.#pod);
      if (left.length === 0) return;
      if (tries === 0) this.#reportUnstarted({ reason: 'ProcessesLeft', message: strayText(left) });
      await within(this.#ending.promise, RETRY_MS, clock);
    }
  }

  async #prepare(): Promise<void> {
    const { ports, clock, log } = this.#context;
    for (;;) {
      if (this.#cause) return;
      try {
        this.#files.prepare();
        const { uid = '', namespace = '', name } = this.#pod.metadata;
        this.#ports = await ports.ensure(this.#pod, this.#files.readRecord()?.ports ?? {});
        this.#files.writeRecord({ uid, namespace, name, ports: this.#ports });
        this.#reporter.report();
        void this.#reporter.written(RETRY_MS).then(() => this.#firstReport.resolve());
        if (isAccountMounted(this.#pod)) this.#kubeconfigPath = await this.#kubeconfig.start(this.#pod);
        return;
      } catch (error) {
        log.warn(
          { pod: this.#pod.metadata.name, problem: errorText(error) },
          'preparing a pod failed, retrying',
        );
        await within(this.#ending.promise, RETRY_MS, clock);
      }
    }
  }

  /** While a container was down, another program may have taken its port: the container could never start again. */
  async #leaveTakenPorts({ ports = [] }: PodContainer): Promise<void> {
    const own = ports.map(({ containerPort }) => containerPort);
    const replaced = await this.#context.ports.replaceTaken(this.#pod, this.#ports, own);
    if (!replaced) return;
    this.#ports = replaced;
    const { uid = '', namespace = '', name } = this.#pod.metadata;
    this.#files.writeRecord({ uid, namespace, name, ports: replaced });
  }

  #watchDeadline(): () => void {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    if (seconds === undefined) return () => undefined;
    const { clock } = this.#context;
    const passedMs = clock.now().getTime() - this.#startTime.getTime();
    return clock.after(Math.max(0, seconds * 1000 - passedMs), () => {
      const message = 'Pod was active on the node longer than the specified deadline';
      this.#verdict = { reason: 'DeadlineExceeded', message };
      void this.#stopContainers(specGraceMs(this.#pod)).then(() => this.#reporter.report());
    });
  }

  async #stopContainers(graceMs: number): Promise<void> {
    this.#graceMs = Math.min(this.#graceMs, graceMs);
    await this.#containers.stop(this.#graceMs);
  }

  #rest(): Promise<void> {
    this.#isIdle = true;
    return this.#onIdle(this.#runningUser);
  }

  async #finish(cause: Ending): Promise<void> {
    this.#firstReport.resolve();
    if (cause.kind !== 'vanished') {
      this.#reporter.report();
      await this.#reporter.flush(RETRY_MS);
    }
    this.#reporter.close();
    if (cause.kind === 'node-stops') return;
    if (cause.kind === 'deleted' && !(await this.#removeObject())) return;
    this.#context.ports.release(this.#pod);
    await this.#files.remove();
  }

  /** False when the node stops before the API server has answered: the next run deletes the object. */
  async #removeObject(): Promise<boolean> {
    const { client, clock, log } = this.#context;
    const { uid = '' } = this.#pod.metadata;
    for (let tries = 0; !this.#isVanished; tries++) {
      try {
        await client.delete(PODS, keyOf(this.#pod), { gracePeriodSeconds: 0, uid });
        return true;
      } catch (error) {
        if (isConflict(error)) return true; // another pod has the name already
        if (this.#nodeStops.signal.aborted) return false;
        if (tries % 10 === 0)
          log.warn({ problem: errorText(error) }, 'deleting a pod object failed, retrying');
        await clock.sleep(RETRY_MS, this.#nodeStops.signal).catch(() => undefined);
      }
    }
    return true;
  }
}

function userOf({ users }: NodeContext, pod: Pod, namespace: string | undefined): PodUser | Error {
  try {
    return users.of(pod, namespace);
  } catch (error) {
    return error instanceof Error ? error : new Error(errorText(error));
  }
}

function specGraceMs({ spec }: Pod): number {
  return (spec.terminationGracePeriodSeconds ?? 30) * 1000;
}

function deletionGraceMs(pod: Pod): number {
  const { deletionGracePeriodSeconds } = pod.metadata;
  return deletionGracePeriodSeconds === undefined ? specGraceMs(pod) : deletionGracePeriodSeconds * 1000;
}

function graceOf(cause: Ending, pod: Pod): number {
  switch (cause.kind) {
    case 'deleted':
      return deletionGraceMs(pod);
    case 'vanished':
      return VANISHED_GRACE_MS;
    case 'node-stops':
      return Math.min(specGraceMs(pod), cause.graceMs);
  }
}
