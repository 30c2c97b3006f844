import type { FieldError } from '../../schema/field-error.js';
import type { JsonObject } from '../../schema/json.js';

/** The rules of one kind, metadata apart; with `old` also what must not change. */
export type Validator = (object: JsonObject, old?: JsonObject) => readonly FieldError[];
