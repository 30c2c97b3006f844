import { Time, Uuid } from '../wire/fields.js';

/** Body of `POST /model-price-map/apply`. */
export class ApplyPricesRequest {
  @Uuid({ required: true, about: 'The tracing project' })
  session_id: string;

  @Time({ about: 'Runs that began then or later; from the first when absent' })
  start_time?: string | null;

  @Time({ about: 'Runs that began before; up to now when absent' })
  end_time?: string | null;
}

/** Query of `GET /model-price-map/unmatched`. */
export class UnmatchedQuery {
  @Uuid({ about: 'The tracing project; all when absent' })
  session_id?: string;

  @Time({ about: 'Runs that began then or later; the last 24 hours when absent' })
  start_time?: string;

  @Time({ about: 'Runs that began before; up to now when absent' })
  end_time?: string;
}
