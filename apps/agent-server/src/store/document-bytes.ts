import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';

/** Limit per document that a caller may send: metadata, a configuration, a context. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;

/**
 * Values of one document, nested ones included: each run that names an assistant parses and copies its
 * documents, and a megabyte of small members costs the time and the memory of twenty.
 */
export const MAX_DOCUMENT_VALUES = 20_000;

/** Limit per document in a row, however many changes it was put together by. */
const MAX_ROW_DOCUMENT_BYTES = 4 * MAX_DOCUMENT_BYTES;

/**
 * Limit per document that a statement selects to be parsed: documents in rows, and nothing that graphs made.
 */
export const MAX_PARSED_CHARS = MAX_ROW_DOCUMENT_BYTES;

interface DocumentSize {
  readonly bytes: number;
  /** Items and members at any depth, and itself. */
  readonly values: number;
}

/**
 * Length of a document as `jsonb` prints it: numbers come without exponents there, so `1e308` takes 309
 * characters, and a few megabytes of those would make unreadable rows.
 */
export function documentSize(document: unknown): DocumentSize {
  let digits = 0;
  let values = 0;
  const text = JSON.stringify(document, (_key, value: unknown) => {
    values++;
    if (typeof value === 'number' && value !== 0) digits += Math.abs(Math.log10(Math.abs(value)));
    return value;
  });
  return { bytes: Buffer.byteLength(text ?? '') + Math.ceil(digits), values };
}

/** Bytes of {@link documentSize}. */
export function documentBytes(document: unknown): number {
  return documentSize(document).bytes;
}

/** SQL: whether a document is small enough for a row. A value takes two characters at least, so few are counted. */
export function fitsRow(document: string): string {
  const bytes = `octet_length((${document})::text)`;
  const values = `(SELECT count(*) FROM jsonb_path_query(${document}, '$.**'))`;
  return `(${bytes} <= ${2 * MAX_DOCUMENT_VALUES}
    OR ${bytes} <= ${MAX_ROW_DOCUMENT_BYTES} AND ${values} <= ${MAX_DOCUMENT_VALUES})`;
}

/**
 * Checks whether a document would have become too large, for a row that was not changed. A text of JSON has
 * two thirds of the length that `jsonb` prints, at least.
 * @throws PublicError `too_large`
 */
export function requireFit(merged: JsonObject, what: string): void {
  const { bytes, values } = documentSize(merged);
  if (bytes > MAX_ROW_DOCUMENT_BYTES / 2 || values > MAX_DOCUMENT_VALUES) throw tooLarge(what);
}

export function tooLarge(what: string): PublicError {
  return new PublicError(
    'too_large',
    `${what}: its metadata would be larger than ${MAX_ROW_DOCUMENT_BYTES} bytes or ${MAX_DOCUMENT_VALUES} values; remove some first, or keep it in the state`,
  );
}

/** @throws PublicError `too_large` for metadata of a run: those of its assistant and of its request, merged */
export function requireRunMetadata(merged: JsonObject): void {
  const { bytes, values } = documentSize(merged);
  if (bytes <= MAX_DOCUMENT_BYTES && values <= MAX_DOCUMENT_VALUES) return;
  throw new PublicError(
    'too_large',
    `The metadata of the run and of its assistant have ${bytes} bytes and ${values} values together; ${MAX_DOCUMENT_BYTES} and ${MAX_DOCUMENT_VALUES} are the most: give fewer, or keep them in the state`,
  );
}
