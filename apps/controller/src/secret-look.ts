/** Values change rarely; a new revision or test a minute later is soon enough. */
const LOOK_MS = 60_000;
/** The resource was applied before its Secret, and its user is waiting. */
const MISSING_MS = 2_000;

/**
 * When to look again at the Secret that a resource names, in milliseconds; undefined when it names none. Secrets are
 * read by name only: a right to list or watch them would show this program those of every namespace, so nothing wakes a
 * resource when its Secret changes. To have a change seen at once, touch the resource (any annotation), or name a
 * new Secret, as the REST interface does.
 */
export function untilSecretLook(
  reference: { readonly name: string } | undefined,
  secret: object | undefined,
): number | undefined {
  if (!reference) return undefined;
  return secret ? LOOK_MS : MISSING_MS;
}
