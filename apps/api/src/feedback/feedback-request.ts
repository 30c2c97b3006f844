import { FEEDBACK_LIMITS } from '#lib/trace-store';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import {
  Choice,
  field,
  Flag,
  FreeObject,
  type InsideOptions,
  Nested,
  says,
  Text,
  TextList,
  Time,
  Uuid,
} from '../wire/fields.js';
import { QueryFlag, QueryWhole } from '../wire/query-flag.js';

/** A number or a truth value. */
export function Score(options: InsideOptions = {}): PropertyDecorator {
  const max = FEEDBACK_LIMITS.score;
  const validate = (value: unknown): boolean =>
    typeof value === 'boolean' || (typeof value === 'number' && Math.abs(value) <= max);
  return field(
    options,
    { anyOf: [{ type: 'number', minimum: -max, maximum: max }, { type: 'boolean' }], nullable: true },
    ValidateBy(
      { name: 'isScore', validator: { validate } },
      says(`Input should be a number from -${max} to ${max}, or a boolean`, 'score_type'),
    ),
  );
}

interface JsonOptions extends InsideOptions {
  /** Maximum size of its JSON text. */
  readonly maxBytes: number;
  /** Objects and texts alone. */
  readonly isDocument?: boolean;
}

/** Any JSON value up to a length. */
function AnyJson({ maxBytes, isDocument = false, ...options }: JsonOptions): PropertyDecorator {
  return field(
    options,
    isDocument
      ? { anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }], nullable: true }
      : { type: 'object', 'x-any-json': true },
    ...(isDocument
      ? [
          ValidateBy(
            { name: 'isDocument', validator: { validate: isObjectOrText } },
            says('Input should be an object or a string', 'dict_type'),
          ),
        ]
      : []),
    ValidateBy(
      {
        name: 'isStorable',
        validator: { validate: (value) => typeof value !== 'string' || isStorable(value) },
      },
      says('String should be well-formed Unicode without U+0000', 'string_unicode'),
    ),
    ValidateBy(
      {
        name: 'isSmall',
        validator: { validate: (value) => Buffer.byteLength(JSON.stringify(value) ?? '') <= maxBytes },
      },
      says(`Input should be at most ${maxBytes} bytes long`, 'too_long'),
    ),
  );
}

function isObjectOrText(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

/** Filters compare with it as text. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/**
 * Maximum size of the JSON text of a value, a correction, a source's metadata, a configuration and of extra.
 */
export const MAX_BYTES = 16_384;
const MAX_COMMENT = 10_000;
export const MAX_KEY = 180;

/** JavaScript's client sends the time of a run as its milliseconds since 1970. */
function fromMilliseconds({ value }: { readonly value: unknown }): unknown {
  if (typeof value !== 'number' || !(Math.abs(value) < 8.64e15)) return value;
  return new Date(value).toISOString();
}

/** Source of feedback. */
class FeedbackSourceRequest {
  @Text({
    required: true,
    minLength: 1,
    maxLength: 100,
    isUnicode: true,
    about: 'api, model, app or auto_eval',
  })
  type: string;

  @FreeObject({ maxBytes: MAX_BYTES, about: 'Anything up to 16 KiB' })
  metadata?: Record<string, unknown> | null;

  @Text({ maxLength: 200, isUnicode: true })
  user_id?: string | null;

  @Text({ maxLength: 200, isUnicode: true })
  user_name?: string | null;
}

/** Content of feedback from any source. */
export class FeedbackContentRequest {
  @Score({ about: 'A number or a boolean; null: none' })
  score?: number | boolean | null;

  @AnyJson({ maxBytes: MAX_BYTES, about: 'Any JSON value up to 16 KiB, for example a label' })
  value?: unknown;

  @AnyJson({ maxBytes: MAX_BYTES, isDocument: true, about: 'What would have been right, up to 16 KiB' })
  correction?: Record<string, unknown> | string | null;

  @Text({ maxLength: MAX_COMMENT, isUnicode: true, about: 'A comment for people' })
  comment?: string | null;
}

/** Body of `PATCH /feedback/{id}`: absent members stay, null members are removed. */
export class UpdateFeedbackRequest extends FeedbackContentRequest {
  @FreeObject({ maxBytes: MAX_BYTES, about: 'How to read the score' })
  feedback_config?: Record<string, unknown> | null;
}

/** Body of `POST /feedback`, and a part of `POST /runs/multipart`. */
export class CreateFeedbackRequest extends UpdateFeedbackRequest {
  @Uuid({ about: 'Chosen by the server when absent; feedback with this id is replaced' })
  id?: string | null;

  @Uuid({ about: 'The run; absent for feedback of a tracing project' })
  run_id?: string | null;

  @Uuid({ about: 'The trace of the run' })
  trace_id?: string | null;

  @Uuid({ about: 'The tracing project of the run, or the one that the feedback is about' })
  session_id?: string | null;

  @Time({ about: 'Of the run; answered while the run has not arrived' })
  @Transform(fromMilliseconds)
  start_time?: string | null;

  @Text({ required: true, minLength: 1, maxLength: MAX_KEY, isUnicode: true, about: 'What is judged' })
  key: string;

  @Nested(() => FeedbackSourceRequest)
  feedback_source?: FeedbackSourceRequest | null;

  @FreeObject({
    maxBytes: MAX_BYTES,
    about: 'The same as feedback_config, as the JavaScript client spells it',
  })
  feedbackConfig?: Record<string, unknown> | null;

  @Uuid()
  comparative_experiment_id?: string | null;

  @Uuid({ about: 'Shared by feedback of runs that were compared' })
  feedback_group_id?: string | null;

  @FreeObject({ maxBytes: MAX_BYTES, about: 'Anything up to 16 KiB; answered as it came' })
  extra?: Record<string, unknown> | null;

  @Flag({ about: 'The judge failed' })
  error?: boolean | null;

  @Flag({
    about:
      'Answered as it came; it changes nothing, since feedback never extends how long traces are kept here',
  })
  extend_trace_retention?: boolean | null;

  @Time({ about: 'When it was given; now when absent' })
  created_at?: string | null;

  @Time({ about: 'Taken and without effect: the clock of the server counts' })
  modified_at?: string | null;
}

function many({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? [value] : value;
}

const MAX_ASKED = 1_000;

/** Query of `GET /feedback`. */
export class FeedbackQuery {
  @TextList({ maxSize: MAX_ASKED, maxLength: 36, about: 'Runs' })
  @Transform(many)
  run?: string[];

  @TextList({ maxSize: 100, maxLength: MAX_KEY, about: 'Keys, any of them' })
  @Transform(many)
  key?: string[];

  @TextList({ maxSize: 100, maxLength: 36, about: 'Tracing projects' })
  @Transform(many)
  session?: string[];

  @TextList({ maxSize: 100, maxLength: 100, about: 'Types of sources: api, model, app, auto_eval' })
  @Transform(many)
  source?: string[];

  @Uuid()
  comparative_experiment_id?: string;

  @QueryFlag({ about: 'Only with a comment, or without' })
  has_comment?: boolean;

  @QueryFlag({ about: 'Only with a score, or without' })
  has_score?: boolean;

  @Choice(['run', 'session'], { about: 'About runs, or about tracing projects' })
  level?: 'run' | 'session';

  @Time({ about: 'Given then or later' })
  min_created_at?: string;

  @Time({ about: 'Given then or earlier' })
  max_created_at?: string;

  @QueryFlag({ about: 'Taken and without effect: names of users are answered as they came' })
  include_user_names?: boolean;

  @QueryWhole({ min: 1, max: 100, fallback: 100, about: 'Most items to answer' })
  limit: number = 100;

  @QueryWhole({ min: 0, max: 1_000_000, fallback: 0, about: 'Items to skip' })
  offset: number = 0;
}
