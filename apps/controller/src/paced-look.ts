/** Objects of one kind that are looked at without a reason, a second: each costs up to four reads of Secrets. */
const LOOKS_PER_SECOND = 5;

/**
 * When to look again at an object that nothing wakes, in milliseconds: as often as is wanted, and with many objects of the
 * kind less often, so that what is asked of the API server while nothing changes does not grow with them.
 * @param count how many objects of the kind there are
 */
export function pacedLook(wantedMs: number, count: number): number {
  return Math.max(wantedMs, Math.ceil((count * 1000) / LOOKS_PER_SECOND));
}
