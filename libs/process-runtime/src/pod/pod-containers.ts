import type { ContainerStatus, Pod, PodContainer } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { ContainerRunner } from '../container/container-runner.js';
import type { ContainerView } from '../container/container-view.js';

/** Conditions under which an attempt at a container is followed by another. */
export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

/** Makes the runner of one container. */
export type MakeRunner = (
  container: PodContainer,
  statuses: readonly ContainerStatus[] | undefined,
  restartPolicy: RestartPolicy,
) => ContainerRunner;

/** True when an init container keeps running beside the others: a sidecar of Kubernetes' own kind. */
export function isSidecar({ restartPolicy }: PodContainer): boolean {
  return restartPolicy === 'Always';
}

/** Minimum grace of sidecars when the others have used up the grace of the pod. */
const SIDECAR_GRACE_MS = 2_000;

interface InitContainer {
  readonly runner: ContainerRunner;
  readonly isSidecar: boolean;
}

/**
 * The containers of one pod in the order of a kubelet: init containers one after the other, each to its end, a sidecar
 * among them until it has started; then the others side by side. Sidecars end after these, the last first.
 */
export class PodContainers {
  readonly #init: readonly InitContainer[];
  readonly #containers: readonly ContainerRunner[];
  readonly #clock: Clock;
  #change = Promise.withResolvers<void>();

  constructor({ spec, status }: Pod, clock: Clock, make: MakeRunner) {
    const initPolicy = spec.restartPolicy === 'Never' ? 'Never' : 'OnFailure';
    this.#clock = clock;
    this.#init = (spec.initContainers ?? []).map((container) => ({
      runner: make(container, status?.initContainerStatuses, isSidecar(container) ? 'Always' : initPolicy),
      isSidecar: isSidecar(container),
    }));
    this.#containers = spec.containers.map((container) =>
      make(
        container,
        status?.containerStatuses,
        isSidecar(container) ? 'Always' : (spec.restartPolicy ?? 'Always'),
      ),
    );
  }

  get all(): readonly ContainerRunner[] {
    return [...this.#init.map(({ runner }) => runner), ...this.#containers];
  }

  get initViews(): readonly ContainerView[] {
    return this.#init.map(({ runner }) => runner.view);
  }

  get views(): readonly ContainerView[] {
    return this.#containers.map(({ view }) => view);
  }

  /** Begins to read what the first attempts need; those after init containers come later. */
  readAhead(): void {
    if (this.#init.length > 0) return;
    for (const runner of this.#containers) runner.readAhead();
  }

  /** To be called when the view of one has changed. */
  changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /**
   * Resolves when all have ended for good; never rejects.
   * @param ending aborted when the pod ends, whose `stop` then ends the running containers
   * @param graceMs for sidecars, once the others have ended by themselves
   */
  async run(ending: AbortSignal, graceMs: number): Promise<void> {
    const sidecars: Promise<void>[] = [];
    await this.#runInTurn(ending, sidecars);
    if (!ending.aborted) await this.#stopSidecars(graceMs);
    await Promise.all(sidecars);
  }

  /** Calling again may shorten the grace. */
  async stop(graceMs: number): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const finite = this.#init.filter((one) => !one.isSidecar).map(({ runner }) => runner);
    await Promise.all([...finite, ...this.#containers].map((runner) => runner.stop(graceMs)));
    const leftMs = graceMs - (this.#clock.monotonicMs() - startedMs);
    await this.#stopSidecars(Math.max(leftMs, Math.min(graceMs, SIDECAR_GRACE_MS)));
  }

  async #runInTurn(ending: AbortSignal, sidecars: Promise<void>[]): Promise<void> {
    const ended = new Promise<void>((resolve) => ending.addEventListener('abort', () => resolve()));
    for (const { runner, isSidecar: goesOn } of this.#init) {
      if (ending.aborted) return;
      if (goesOn) {
        sidecars.push(runner.run());
        while (!runner.view.isStarted && !ending.aborted) await Promise.race([this.#change.promise, ended]);
        continue;
      }
      await runner.run();
      const { phase } = runner.view;
      if (phase.kind !== 'terminated' || phase.result.exitCode !== 0) return;
    }
    if (ending.aborted) return;
    await Promise.all(this.#containers.map((runner) => runner.run()));
  }

  async #stopSidecars(graceMs: number): Promise<void> {
    for (const { runner } of this.#init.filter((one) => one.isSidecar).toReversed())
      await runner.stop(graceMs);
  }
}
