import { Described } from './operation.js';

/** A parameter of the query that may be repeated: a single one is a list of one. */
export function asList({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? [value] : value;
}

type Values = Readonly<Record<string, unknown>>;

/** `memory_mb` → `memoryMb` */
export function camelCase(snake: string): string {
  return snake.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

/** `memoryMb` → `memory_mb` */
export function snakeCase(camel: string): string {
  return camel.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`);
}

/** The same values under camelCase names, without those that are null or absent. Only the first level is renamed. */
export function fromWire(values: object | null | undefined): Values {
  const named = Object.entries(values ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(named.map(([name, value]) => [camelCase(name), withoutNulls(value)]));
}

/** The same values under snake_case names. Only the first level is renamed. */
export function toWire(values: object | null | undefined): Values {
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [snakeCase(name), value as unknown]),
  );
}

/** Kubernetes takes absent fields, not null ones; instances of request classes become plain values. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, entry]) => entry !== null && entry !== undefined);
  return Object.fromEntries(kept.map(([name, entry]) => [name, withoutNulls(entry)]));
}

/** Shape of a field on the wire, for the OpenAPI document only: nothing is checked by it. */
export type Shape = Readonly<Record<string, unknown>>;

export const TEXT: Shape = { type: String };
export const UUID: Shape = { type: String, format: 'uuid' };
export const TIME: Shape = { type: String, format: 'date-time' };
export const WHOLE: Shape = { type: 'integer' };
export const NUMBER: Shape = { type: 'number' };
export const FLAG: Shape = { type: Boolean };
/** Any JSON value, null included. */
export const JSON_VALUE: Shape = { type: 'object', 'x-any-json': true };

export function words(values: readonly string[]): Shape {
  return { type: String, enum: [...values] };
}

export function object(type: () => new () => object): Shape {
  // the name of this function is how the describing package knows that the class is looked up later
  return { type: () => type() };
}

export function listOf(type: () => new () => object): Shape {
  return { type: () => type(), isArray: true };
}

export function textList(format?: string): Shape {
  return { type: 'array', items: { type: 'string', ...(format === undefined ? {} : { format }) } };
}

export function textMap(): Shape {
  return { type: 'object', additionalProperties: { type: 'string' } };
}

export function orNull(shape: Shape): Shape {
  const choices: unknown = shape['enum'];
  // the choices of a list are those of its items
  const isChoice = Array.isArray(choices) && shape['isArray'] !== true;
  return { ...shape, nullable: true, ...(isChoice ? { enum: [...(choices as unknown[]), null] } : {}) };
}

/** A field of an answer, always present: a missing value is null. */
export function Answered(shape: Shape, about?: string): PropertyDecorator {
  return shown(shape, true, about);
}

/** A field that may be absent, of an answer or of a body that the route reads by itself. */
export function Perhaps(shape: Shape, about?: string): PropertyDecorator {
  return shown(shape, false, about);
}

function shown(shape: Shape, required: boolean, about: string | undefined): PropertyDecorator {
  const description = about === undefined ? {} : { description: about };
  return Described(({ ApiProperty }) => ApiProperty({ ...shape, ...description, required }));
}
