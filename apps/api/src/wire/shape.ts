import { Described } from './described.js';

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
