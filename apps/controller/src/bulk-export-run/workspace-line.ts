import { keyText, type ObjectKey } from '#lib/resources';
import type { Clock } from '#lib/time';

/** A waiting run asks again every three seconds; one that does not has ended, or waits for something else. */
const LOOKS_WITHIN_MS = 10_000;

interface Waiting {
  readonly key: ObjectKey;
  readonly lookedMs: number;
}

/**
 * Workspaces whose runs wait for a place of the platform, in order: those with fewer runs at work come first,
 * among equal ones the one served longest ago. Exports of one workspace have a queue of the same kind, in
 * which the name of the export is the namespace. Kept in memory: after a restart a waiting run is queued
 * again when it next asks.
 */
export class WorkspaceLine {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #waiting = new Map<string, Waiting>();
  /** Number of the last service of a workspace. */
  readonly #served = new Map<string, number>();
  #turn = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** A run of the workspace has found no place. */
  wait(key: ObjectKey): void {
    this.#waiting.set(key.namespace ?? '', { key, lookedMs: this.#clock.monotonicMs() });
  }

  /** The run waits for no place, or not for a place alone; others of its workspace join again with their next look. */
  leave(key: ObjectKey): void {
    const { namespace = '' } = key;
    const waiting = this.#waiting.get(namespace);
    if (waiting && keyText(waiting.key) === keyText(key)) this.#waiting.delete(namespace);
  }

  /** A run of the workspace has begun. */
  begin(namespace: string): void {
    this.#waiting.delete(namespace);
    this.#served.set(namespace, ++this.#turn);
  }

  /** Number of other workspaces ahead of this one. @param atWork runs that a workspace has at work */
  ahead(namespace: string, atWork: (namespace: string) => number): number {
    this.#forget();
    return [...this.#waiting.keys()].filter(
      (other) => other !== namespace && this.#isBefore(other, namespace, atWork),
    ).length;
  }

  /** The run that looks first when a place becomes free. */
  first(atWork: (namespace: string) => number): ObjectKey | undefined {
    this.#forget();
    const [first] = [...this.#waiting.keys()].sort((a, b) => (this.#isBefore(a, b, atWork) ? -1 : 1));
    return first === undefined ? undefined : this.#waiting.get(first)?.key;
  }

  #isBefore(a: string, b: string, atWork: (namespace: string) => number): boolean {
    const more = atWork(a) - atWork(b) || (this.#served.get(a) ?? 0) - (this.#served.get(b) ?? 0);
    return more < 0 || (more === 0 && a < b);
  }

  #forget(): void {
    const now = this.#clock.monotonicMs();
    for (const [namespace, { lookedMs }] of this.#waiting)
      if (now - lookedMs > LOOKS_WITHIN_MS) this.#waiting.delete(namespace);
    // forget workspaces that never come again: a service before the last thousand counts like none
    for (const [namespace, turn] of this.#served)
      if (turn < this.#turn - 1_000) this.#served.delete(namespace);
  }
}
