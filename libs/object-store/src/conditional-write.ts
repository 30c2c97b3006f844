import { classify } from './object-store-error.js';

/** Codes by which stores refuse a condition that they do not know. Others ignore it. */
const NOT_UNDERSTOOD = new Set(['NotImplemented', 'InvalidArgument', 'InvalidRequest']);

/**
 * Writes on the condition that the key is free, and without it if the store does not understand conditions:
 * callers must be safe without, it only closes a race.
 * @param write is given the headers of the condition
 */
export async function conditionally<T>(
  isConditional: boolean,
  attempted: string,
  write: (condition: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if (!isConditional) return write({});
  try {
    return await write({ 'if-none-match': '*' });
  } catch (error) {
    if (!NOT_UNDERSTOOD.has(classify(error, attempted).code)) throw error;
    return write({});
  }
}
