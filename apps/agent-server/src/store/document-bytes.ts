import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';

/** Of one document that a caller may send: metadata, a configuration, a context. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;

/** Of one in a row, however many changes it was put together by. */
const MAX_ROW_DOCUMENT_BYTES = 4 * MAX_DOCUMENT_BYTES;

/**
 * How long a document becomes where `jsonb` prints it: numbers come without exponents there, so `1e308` takes 309
 * characters, and a few megabytes of those would make rows that nobody can read any more.
 */
export function documentBytes(document: unknown): number {
  let digits = 0;
  const text = JSON.stringify(document, (_key, value: unknown) => {
    if (typeof value === 'number' && value !== 0) digits += Math.abs(Math.log10(Math.abs(value)));
    return value;
  });
  return Buffer.byteLength(text ?? '') + Math.ceil(digits);
}

/** SQL: whether a document is small enough for a row. */
export function fitsRow(document: string): string {
  return `octet_length((${document})::text) <= ${MAX_ROW_DOCUMENT_BYTES}`;
}

/**
 * For a row that was not changed: whether its document would have become too large. A text of JSON has two thirds of the
 * length that `jsonb` prints, at least.
 * @throws PublicError `too_large`
 */
export function requireFit(merged: JsonObject, what: string): void {
  if (documentBytes(merged) > MAX_ROW_DOCUMENT_BYTES / 2) throw tooLarge(what);
}

export function tooLarge(what: string): PublicError {
  return new PublicError(
    'too_large',
    `${what}: its metadata would be larger than ${MAX_ROW_DOCUMENT_BYTES} bytes; remove some first, or keep it in the state`,
  );
}
