import { errorText } from '#lib/errors';
import type { SecretWords } from '../wire/secret-words.js';

/** An agent may throw anything, of any size. */
const MAX_TEXT = 8_192;

/** What an agent threw, for a log line: with its stack, without the server's secrets. */
export function errorForLog(error: unknown, secrets: SecretWords): Readonly<Record<string, string>> {
  const shown = (text: string): string => secrets.hide(text.slice(0, MAX_TEXT));
  if (!(error instanceof Error)) return { type: typeof error, message: shown(errorText(error)) };
  const { stack } = error;
  return {
    type: error.name,
    message: shown(error.message),
    ...(typeof stack === 'string' ? { stack: shown(stack) } : {}),
  };
}
