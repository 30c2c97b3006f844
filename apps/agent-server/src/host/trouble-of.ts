import { errorText, PublicError } from '#lib/errors';
import { postgresTrouble } from '#lib/postgres';
import type { Trouble } from '../protocol/messages.js';
import { shortMessage } from '../protocol/short-message.js';

/** Error of a failed question, as sent to the server; shortened, since the server limits the head of a frame. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof PublicError)
    return { kind: 'public', code: error.code, message: shortMessage(error.message) };
  const message = shortMessage(errorText(error));
  const trouble = postgresTrouble(error);
  if (trouble !== undefined)
    return { kind: 'database', trouble: trouble === 'refused' ? 'refused' : 'unavailable', message };
  const stack = error instanceof Error ? shortMessage(error.stack ?? message) : message;
  return { kind: 'failed', message, stack };
}
