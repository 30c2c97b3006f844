import type { FoundPlace } from '../run/run-keys.js';
import type { RunPlace } from '../run/run-place.js';

/** A batch names runs of deleted projects whose rows are still there: they have to go first. */
export class LeftRunsError extends Error {
  constructor(readonly runs: readonly RunPlace[]) {
    super('runs of a deleted project are in the way');
    this.name = 'LeftRunsError';
  }
}

/** @throws LeftRunsError */
export function refuseLeftRuns(places: readonly (FoundPlace | undefined)[]): void {
  const left = places.filter((place) => place?.isLeft) as FoundPlace[];
  if (left.length > 0) throw new LeftRunsError(left);
}
