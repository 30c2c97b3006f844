/** Values change rarely; a new revision or test may come a minute later. */
const LOOK_MS = 60_000;
/** Delay while the Secret is missing: a user applied the resource first and is waiting. */
const MISSING_MS = 2_000;

/**
 * Delay in milliseconds until the Secret that a resource names is read again; undefined when it names none.
 * Secrets are read by name only: a right to list or watch them would show this program those of every
 * namespace, so nothing wakes a resource when its Secret changes. A user who cannot wait touches the resource
 * (any annotation), or names a new Secret, as the REST interface does.
 */
export function untilSecretLook(
  reference: { readonly name: string } | undefined,
  secret: object | undefined,
): number | undefined {
  if (!reference) return undefined;
  return secret ? LOOK_MS : MISSING_MS;
}

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
