import type { SecretWords } from '../wire/secret-words.js';
import { errorOnWire } from '../wire/wire-value.js';

/** An agent may throw anything, of any size. */
const MAX_TEXT = 8_192;

/** Error that an agent threw, for a log line: with its stack, without the server's secrets. */
export function errorForLog(error: unknown, secrets: SecretWords): Readonly<Record<string, string>> {
  const shown = (text: string): string => secrets.hide(text.slice(0, MAX_TEXT));
  const { error: type, message } = errorOnWire(error);
  const stack = stackOf(error);
  return { type, message: shown(message), ...(stack === undefined ? {} : { stack: shown(stack) }) };
}

/** Reads the stack; members of a thrown value may throw themselves. */
function stackOf(error: unknown): string | undefined {
  try {
    const stack: unknown = error instanceof Error ? error.stack : undefined;
    return typeof stack === 'string' ? stack : undefined;
  } catch {
    return undefined;
  }
}
