import type { Instant } from '#lib/time';

/** Traces of one project to be deleted, each by its name. */
export interface NamedTraces {
  readonly traceIds: readonly string[];
  /** Threads to delete: all traces whose root names one of them in its metadata. */
  readonly threadIds: readonly string[];
  /** Traces of the threads that began later stay; by default the moment of the deletion. */
  readonly beganBy?: Instant | undefined;
}

/** Deletes traces of one tenant at a time. */
export interface Erasures {
  /**
   * Deletes traces with all their runs and payloads. Data that arrives for them within the next week is not
   * stored. Resolves when nothing of them is left; an interrupted deletion is completed later, and repeating
   * it changes nothing.
   * @returns the number of runs that it deleted
   */
  erase(tenantId: string, projectId: string, named: NamedTraces): Promise<number>;
}
