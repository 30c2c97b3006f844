import { Type } from 'class-transformer';
import { Whole } from './fields.js';

/** Query of a paged list. */
export class PageQuery {
  @Whole({ min: 1, max: 100, fallback: 20, about: 'Most items to answer' })
  @Type(() => Number)
  limit: number = 20;

  @Whole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Items to skip' })
  @Type(() => Number)
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
