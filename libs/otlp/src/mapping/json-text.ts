import { hasMoreValues, isTextDeeperThan } from '#lib/json';
import type { AttributeValue } from '../span.js';

/** A JSON text, to be written as it is. */
export interface JsonText {
  readonly kind: 'object' | 'array' | 'scalar';
  readonly text: string;
}

/** Texts are parsed to see whether they are JSON; the rest are strings. */
const MAX_VALUES = 200_000;
/** Payloads are stored one level deep in their run. */
const MAX_DEPTH = 100;

/** A text that is a JSON object or list, as it was sent: printed again, numbers and the order of names would change. */
export function asJson(text: string): JsonText | undefined {
  const first = /^[ \n\r\t]{0,100}([[{])/.exec(text)?.[1];
  if (first === undefined || hasMoreValues(text, MAX_VALUES) || isTextDeeperThan(text, MAX_DEPTH))
    return undefined;
  try {
    // only whether it is JSON
    // eslint-disable-next-line no-restricted-syntax
    JSON.parse(text);
    return { kind: first === '{' ? 'object' : 'array', text };
  } catch {
    return undefined;
  }
}

/** A text that is JSON of another text, of a number, true, false or null, as it was sent. */
export function jsonScalar(text: string): string | undefined {
  if (!/^[ \n\r\t]{0,100}["\dtfn-]/.test(text)) return undefined;
  try {
    // only whether it is JSON
    // eslint-disable-next-line no-restricted-syntax
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}

/** The JSON of a value; texts that are JSON objects or lists are taken for these. */
export function jsonOf(value: AttributeValue): JsonText {
  if (typeof value === 'string') return asJson(value) ?? { kind: 'scalar', text: JSON.stringify(value) };
  if (Array.isArray(value)) return { kind: 'array', text: JSON.stringify(value) };
  const kind = typeof value === 'object' && value !== null ? 'object' : 'scalar';
  return { kind, text: JSON.stringify(value) };
}

/** An object of members that are JSON already. */
export function jsonObject(members: Iterable<readonly [name: string, json: string]>): string {
  return `{${[...members].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`;
}

/** Payloads are objects: anything else is a member of one. */
export function jsonPayload(value: AttributeValue, name: 'input' | 'output'): string {
  const { kind, text } = jsonOf(value);
  return kind === 'object' ? text : jsonObject([[name, text]]);
}
