import { Transform } from 'class-transformer';
import { Decimal, FreeObject, Nested, Text, Time, Uuid } from '../wire/fields.js';
import { QueryWhole } from '../wire/query-flag.js';
import { Answered, TEXT, TIME, UUID } from '../wire/shape.js';
import { FeedbackContentRequest, MAX_BYTES, MAX_KEY, Score } from './feedback-request.js';

/** A time from now. */
class LifetimeRequest {
  @Decimal({ min: 0, max: 366 })
  days?: number | null;

  @Decimal({ min: 0, max: 100_000 })
  hours?: number | null;

  @Decimal({ min: 0, max: 1_000_000 })
  minutes?: number | null;
}

/** Body of `POST /feedback/tokens`, or an item of it. */
export class TokenRequest {
  @Uuid({ required: true, about: 'The run, which may come later' })
  run_id: string;

  @Text({ required: true, minLength: 1, maxLength: MAX_KEY, isUnicode: true, about: 'Key of the feedback' })
  feedback_key: string;

  @FreeObject({ maxBytes: MAX_BYTES, about: 'How to read the score; kept with the feedback' })
  feedback_config?: Record<string, unknown> | null;

  @Nested(() => LifetimeRequest, { about: 'Three hours when neither is given, at most a year' })
  expires_in?: LifetimeRequest | null;

  @Time({ about: 'Instead of expires_in' })
  expires_at?: string | null;

  @Uuid({ about: 'Of the feedback, which each use replaces; absent: each use gives feedback of its own' })
  id?: string | null;
}

/** Query of `GET /feedback/tokens`. */
export class TokensQuery {
  @Uuid({ required: true })
  run_id: string;

  @QueryWhole({ min: 1, max: 100, fallback: 100, about: 'Most items to answer' })
  limit: number = 100;

  @QueryWhole({ min: 0, max: 1_000, fallback: 0, about: 'Items to skip' })
  offset: number = 0;
}

/** Body of `POST /feedback/tokens/{token}`. */
export class TokenFeedbackRequest extends FeedbackContentRequest {
  @FreeObject({ maxBytes: MAX_BYTES, about: 'Kept as the metadata of the source' })
  metadata?: Record<string, unknown> | null;
}

function asScore({ value }: { readonly value: unknown }): unknown {
  if (value === 'true' || value === 'false') return value === 'true';
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
}

/** Query of `GET /feedback/tokens/{token}`. */
export class TokenFeedbackQuery {
  @Score({ about: 'A number, true or false' })
  @Transform(asScore)
  score?: number | boolean;

  @Text({ maxLength: 4_000, isUnicode: true })
  value?: string;

  @Text({ maxLength: 10_000, isUnicode: true })
  comment?: string;

  @Text({ maxLength: 10_000, isUnicode: true })
  correction?: string;
}

/** A presigned token. */
export class FeedbackTokenAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(
    TEXT,
    'Where feedback is sent without a key: GET with a query, or POST. Lists do not show the token in it',
  )
  readonly url: string;
  @Answered(TIME) readonly expires_at: string;
}

export class RecordedAnswer {
  @Answered(TEXT) readonly message: string;
}
