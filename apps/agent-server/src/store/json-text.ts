import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';

/** Texts up to this size are parsed at once, without waiting for others. */
export const SMALL_BYTES = 64 * 1024;

/** SQL: a text; null for a large one, unless the parameter says that it may be large. */
export function smallText(text: string, mayBeLarge: string): string {
  return `CASE WHEN ${mayBeLarge}::boolean OR octet_length(${text}) <= ${SMALL_BYTES} THEN ${text} END`;
}

/** JSON text for a `json` column. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

/**
 * Half a character: `JSON.stringify` escapes a surrogate without its other half, and nothing else of that
 * range.
 */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;
const NUL = /(?<!\\)((?:\\\\)*)\\u0000/g;

/**
 * JSON text for a `jsonb` column, which refuses NUL characters and lone surrogates: both become U+FFFD.
 * Leaving them out would turn one text into another, which may be the name of another user.
 */
export function jsonbText(value: unknown): string {
  const text = jsonText(value);
  const whole = text.includes('\\ud') ? text.replace(LONE_SURROGATE, '$1\\ufffd') : text;
  return whole.includes('\\u0000') ? whole.replace(NUL, '$1\\ufffd') : whole;
}

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

/** Most that reading the rows of one answer may cost: some 25 MB of text, or a million and a half values. */
const MAX_COST = 32 * 1024 * 1024;

export interface BoundedPage {
  /** Columns of the answer, from `alias`. */
  readonly columns: string;
  readonly alias: string;
  /** Statement of the page in its order, with those columns at least. */
  readonly rows: string;
  /** Columns that may hold much. */
  readonly large: readonly string[];
  /** Most that reading its rows may cost; by default the limit of a page that is answered as text. */
  readonly maxCost?: number;
}

/** SQL, as a column of a bounded page: how many rows the page has without the bound. */
export const ROWS_OF_PAGE = '(SELECT count(*)::int FROM page)';

/**
 * SQL: the rows of a page, up to the one with which they exceed the bytes of one answer. Otherwise a page of
 * a thousand rows would be held in memory in full, whatever the rows hold. Rows are read one after another,
 * and none behind the last that is answered: their stored lengths say little, since a few kilobytes become
 * megabytes.
 */
export function boundedPage({ columns, alias, rows, large, maxCost = MAX_COST }: BoundedPage): string {
  const costs = large.map((column) => `agentplane.reading_cost(p.${column}::text)`);
  const cost = costs.length > 0 ? costs.join(' + ') : '0::bigint';
  return `WITH RECURSIVE page AS MATERIALIZED (
      SELECT listed.*, row_number() OVER () AS page_place FROM (${rows}) listed),
    taken AS (
      SELECT p.page_place, ${cost} AS page_cost FROM page p WHERE p.page_place = 1
      UNION ALL
      SELECT p.page_place, t.page_cost + ${cost} FROM taken t JOIN page p ON p.page_place = t.page_place + 1
      WHERE t.page_cost < ${maxCost})
    SELECT ${columns} FROM page ${alias} JOIN taken USING (page_place) ORDER BY page_place`;
}
