import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { Flag } from './fields.js';

const TRUE = new Set(['true', '1', 'yes', 'on', 't', 'y']);
const FALSE = new Set(['false', '0', 'no', 'off', 'f', 'n']);

function asFlag({ value }: { value: unknown }): unknown {
  if (typeof value !== 'string') return value;
  const word = value.toLowerCase();
  return TRUE.has(word) ? true : FALSE.has(word) ? false : value;
}

/** A flag of a query, in the spellings that clients use: those of Python send `True`. */
export function QueryFlag(options: { readonly about: string }): PropertyDecorator {
  return applyDecorators(Flag(options), Transform(asFlag));
}
