import type { Log } from '#lib/reconcile';

/**
 * Informers of a program that cannot follow the API server at present. An outage fails all of them,
 * repeatedly: it is logged once when it begins and once when the last one recovers.
 */
export class Trouble {
  readonly #failing = new Set<string>();
  #problem: string | undefined;

  /** @param changed called when an outage begins and when it is over */
  constructor(
    private readonly log: Log,
    private readonly changed: () => void = () => undefined,
  ) {}

  /** First problem of the outage; undefined without one. */
  get problem(): string | undefined {
    return this.#problem;
  }

  failed(resource: string, problem: string): void {
    const isNew = !this.#failing.has(resource);
    const isFirst = this.#failing.size === 0;
    this.#failing.add(resource);
    if (isFirst) {
      this.#problem = problem;
      this.log.warn({ resource, problem }, 'watch failed, retrying');
      this.changed();
    } else if (isNew) this.log.debug({ resource, problem }, 'watch failed, retrying');
  }

  worked(resource: string): void {
    if (!this.#failing.delete(resource) || this.#failing.size > 0) return;
    this.#problem = undefined;
    this.log.info({ resource }, 'watch recovered');
    this.changed();
  }
}
