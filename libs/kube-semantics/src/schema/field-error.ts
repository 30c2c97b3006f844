/**
 * Maximum number of errors, more than people read. A body of 3 MB can have a million mistakes, whose
 * sentences would fill all memory.
 */
export const MOST_ERRORS = 1_000;

/** The mistakes of all items, in their order; after the first thousand the rest is not looked at. */
export function errorsOfEach<T>(
  list: Iterable<T>,
  check: (item: T, index: number) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of list) {
    for (const error of check(item, index++)) errors.push(error);
    if (errors.length >= MOST_ERRORS) break;
  }
  return errors;
}

/** The machine-readable word of a field error, as in `status.details.causes[].reason`. */
export type FieldErrorReason =
  | 'FieldValueInvalid'
  | 'FieldValueTypeInvalid'
  | 'FieldValueRequired'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueDuplicate'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'InternalError';

/** One wrong field, as a Kubernetes API server reports it. */
export interface FieldError {
  /** Path as in `spec.containers[0].name`; `<nil>` for the object itself. */
  readonly field: string;
  readonly reason: FieldErrorReason;
  /**
   * Text without the field: `Invalid value: "x": detail`. It is used as `status.details.causes[].message`.
   */
  readonly message: string;
  readonly detail: string;
}

const WORDS: Readonly<Record<FieldErrorReason, string>> = {
  FieldValueInvalid: 'Invalid value',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueRequired: 'Required value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueNotFound: 'Not found',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  InternalError: 'Internal error',
};

function fieldError(reason: FieldErrorReason, field: string, detail: string, value?: unknown): FieldError {
  const shown = value === undefined ? '' : `: ${renderValue(value)}`;
  const said = detail === '' ? '' : `: ${detail}`;
  return {
    field: field === '' ? '<nil>' : field,
    reason,
    message: `${WORDS[reason]}${shown}${said}`,
    detail,
  };
}

/** A value as Kubernetes prints it inside a message: JSON with sorted keys, and Go's HTML-safe escapes for nested text. */
function renderValue(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' ? quote(value) : htmlSafe(JSON.stringify(sortKeys(value)) ?? 'null');
}

/** Go's `%q` for the text that occurs here. */
export function quote(text: string): string {
  return JSON.stringify(text).replaceAll('\\b', '\\b').replaceAll('\u007f', '\\x7f');
}

function htmlSafe(json: string): string {
  return json.replaceAll('<', '\\u003c').replaceAll('>', '\\u003e').replaceAll('&', '\\u0026');
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}

/** Malformed value; `value` is shown, or not when undefined. */
export const invalid = (field: string, value: unknown, detail: string): FieldError =>
  fieldError('FieldValueInvalid', field, detail, value ?? null);

export const typeInvalid = (field: string, value: unknown, detail: string): FieldError =>
  fieldError('FieldValueTypeInvalid', field, detail, value ?? '');

export const required = (field: string, detail = ''): FieldError =>
  fieldError('FieldValueRequired', field, detail);

export const forbidden = (field: string, detail: string): FieldError =>
  fieldError('FieldValueForbidden', field, detail);

export const duplicate = (field: string, value: unknown): FieldError =>
  fieldError('FieldValueDuplicate', field, '', value);

export const notFound = (field: string, value: unknown): FieldError =>
  fieldError('FieldValueNotFound', field, '', value);

/** A value outside an enumeration. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const detail = supported.length > 0 ? `supported values: ${supported.map(quote).join(', ')}` : '';
  return fieldError('FieldValueNotSupported', field, detail, value ?? null);
}

/** Error of a value longer than `maxBytes`; the value itself is not shown. */
export function tooLong(field: string, maxBytes: number): FieldError {
  return fieldError(
    'FieldValueTooLong',
    field,
    `may not be more than ${maxBytes} ${maxBytes === 1 ? 'byte' : 'bytes'}`,
  );
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  return fieldError(
    'FieldValueTooMany',
    field,
    `must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
    actual,
  );
}
