import type { JsonObject } from '#lib/json';
import type { FieldError } from '../../schema/field-error.js';

/** The rules of one kind, metadata apart; with `old` also what must not change. */
export type Validator = (object: JsonObject, old?: JsonObject) => readonly FieldError[];
