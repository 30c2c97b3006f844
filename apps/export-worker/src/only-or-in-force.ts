import { ObjectStoreError } from '#lib/object-store';

/**
 * Writes an object where none may be. A worker that was paused, and wakes up when another has long finished, so leaves
 * what that one wrote alone; an attempt that finds something there and is still in force replaces it.
 * @param confirm throws unless this attempt is in force
 */
export async function onlyOrInForce<T>(
  write: () => Promise<T>,
  replace: () => Promise<T>,
  confirm: () => Promise<void>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof ObjectStoreError && error.code === 'PreconditionFailed')) throw error;
    await confirm();
    return replace();
  }
}
