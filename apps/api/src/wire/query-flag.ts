import { applyDecorators, Param, type PipeTransform } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { isUuid } from '#lib/resources';
import { Flag, type NumberOptions, Whole } from './fields.js';
import { invalid } from './request-pipe.js';

/** An id in the path: a uuid, in lower case. */
export function PathId(name: string): ParameterDecorator {
  const pipe: PipeTransform = {
    transform(value: unknown) {
      if (isUuid(value)) return value.toLowerCase();
      throw invalid([{ loc: ['path', name], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }]);
    },
  };
  return Param(name, pipe);
}

/** A whole number of a query. */
export function QueryWhole(options: NumberOptions = {}): PropertyDecorator {
  return applyDecorators(
    Whole(options),
    Type(() => Number),
  );
}

/** Query of a paged list. */
export class PageQuery {
  @QueryWhole({ min: 1, max: 100, fallback: 20, about: 'Most items to answer' })
  limit: number = 20;

  @QueryWhole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Items to skip' })
  offset: number = 0;
}

/** Query of a list whose pages have a hundred items. */
export class HundredsQuery {
  @QueryWhole({ min: 1, max: 100, fallback: 100, about: 'Most items to answer' })
  limit: number = 100;

  @QueryWhole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Items to skip' })
  offset: number = 0;
}

/** A page on the wire; `offset` is the value to send for the next one. */
export interface Page<T> {
  readonly resources: readonly T[];
  readonly offset: number;
}

export function pageOf<T>(items: readonly T[], query: Pick<PageQuery, 'limit' | 'offset'>): Page<T> {
  const resources = items.slice(query.offset, query.offset + query.limit);
  return { resources, offset: query.offset + resources.length };
}

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
