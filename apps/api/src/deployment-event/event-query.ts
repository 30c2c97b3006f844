import { Type } from 'class-transformer';
import { Whole } from '../wire/fields.js';

const DEFAULT_LIMIT = 100;

/** Query of `GET /v2/deployments/{id}/events`. */
export class EventsQuery {
  @Whole({ min: 1, max: 1_000, fallback: DEFAULT_LIMIT, about: 'Most events to answer: the newest of them' })
  @Type(() => Number)
  limit: number = DEFAULT_LIMIT;
}
