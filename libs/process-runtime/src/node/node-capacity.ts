import { availableParallelism, totalmem } from 'node:os';

/**
 * Minimum, so that two cores run the platform and the samples: requests are reservations, and idle agents use
 * none.
 */
const LEAST_CPUS = 4;

/** Capacity of this machine for pods, as a Node states it. */
export function nodeCapacity(): { readonly cpu: string; readonly memory: string; readonly pods: string } {
  return {
    cpu: String(Math.max(LEAST_CPUS, availableParallelism())),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    pods: '110',
  };
}
