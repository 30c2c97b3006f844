import { TerminalError, WaitingError } from '#lib/errors';
import { controllerOf, isOwnedBy } from '#lib/reconcile';
import { isDeleting, type KubeObject, REASON, type Secret } from '#lib/resources';

/** The text under a key of a Secret; undefined when the key is missing or empty. */
export function secretValue(secret: Secret | undefined, key: string): string | undefined {
  const value = secret?.data?.[key];
  return value === undefined || value === '' ? undefined : Buffer.from(value, 'base64').toString('utf8');
}

const FORMER_LOOK_MS = 1_000;

/**
 * The Secret, if it belongs to this owner. A Secret of a former owner of the name is about to be garbage collected,
 * and what it holds is revoked already.
 * @throws WaitingError while a former owner's Secret exists, TerminalError `NotOurs` when it has another owner
 */
export function requireOwned(secret: Secret, owner: KubeObject): Secret {
  if (isOwnedBy(secret, owner)) return secret;
  const { name } = secret.metadata;
  const { kind = '', metadata } = owner;
  const former = controllerOf(secret);
  if (isDeleting(secret) || (former?.kind === kind && former.name === metadata.name))
    throw new WaitingError(
      REASON.deleting,
      `Secret ${name} of a former ${kind} is being deleted`,
      FORMER_LOOK_MS,
    );
  throw new TerminalError(
    REASON.notOurs,
    `Secret ${name} exists and belongs to another owner; rename or delete it`,
  );
}
