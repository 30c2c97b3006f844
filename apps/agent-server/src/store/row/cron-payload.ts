import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { jsonText } from '../json-text.js';

/** Limit of the payload that each run of a cron is given: it is kept and read again and again. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** JSON text of a cron's payload. @throws PublicError `too_large` */
export function payloadText(payload: JsonObject): string {
  const text = jsonText(payload);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_PAYLOAD_BYTES) return text;
  throw new PublicError(
    'too_large',
    `The input, config and context of a cron have ${bytes} bytes, and ${MAX_PAYLOAD_BYTES} is the most; keep large values in the store, and name them`,
  );
}
