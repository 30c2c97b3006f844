/** Objects of one kind that are looked at without a reason, a second: each costs up to four reads of Secrets. */
const LOOKS_PER_SECOND = 5;

/**
 * Delay in milliseconds until an object that nothing wakes is checked again: the wanted one, and longer with
 * many objects of the kind, so that the load on the API server while nothing changes does not grow with their
 * number.
 * @param count number of objects of the kind
 */
export function pacedLook(wantedMs: number, count: number): number {
  return Math.max(wantedMs, Math.ceil((count * 1000) / LOOKS_PER_SECOND));
}
