/** Requests and changed protocols on their way to deployments at one time. */
export interface RoutedLimits {
  /** Fewer than the connections that may be open: the api itself is asked on the others. */
  readonly most: number;
  readonly mostOfNamespace: number;
}

export const ROUTED_LIMITS: RoutedLimits = { most: 3_000, mostOfNamespace: 1_000 };

/**
 * Counts what is on its way to deployments. An agent decides how long its answers last, so that whoever has one could hold
 * every connection of the api with them.
 */
export class RoutedRoom {
  readonly #limits: RoutedLimits;
  readonly #open = new Map<string, number>();
  #all = 0;

  constructor(limits: RoutedLimits) {
    this.#limits = limits;
  }

  /** @returns to be called once, when it has ended; undefined when there is no room */
  enter(namespace: string): (() => void) | undefined {
    const ofNamespace = this.#open.get(namespace) ?? 0;
    if (this.#all >= this.#limits.most || ofNamespace >= this.#limits.mostOfNamespace) return undefined;
    this.#all++;
    this.#open.set(namespace, ofNamespace + 1);
    return () => {
      this.#all--;
      const left = (this.#open.get(namespace) ?? 1) - 1;
      if (left > 0) this.#open.set(namespace, left);
      else this.#open.delete(namespace);
    };
  }
}
