import type { Instant } from '#lib/time';

/** Traces of one project to be deleted, each by its name. */
export interface NamedTraces {
  readonly traceIds: readonly string[];
  /** Of all traces whose root names such a thread in its metadata. */
  readonly threadIds: readonly string[];
  /** Traces of the threads that began later stay; by default the moment of the deletion. */
  readonly beganBy?: Instant | undefined;
}

/** Deletes traces of one tenant at a time. */
export interface Erasures {
  /**
   * Deletes traces with all their runs and payloads. What arrives of them within the next week is not stored. Resolves
   * when nothing of them is left; one that was interrupted is completed later, and doing it again changes nothing.
   * @returns how many runs it deleted
   */
  erase(tenantId: string, projectId: string, named: NamedTraces): Promise<number>;
}
