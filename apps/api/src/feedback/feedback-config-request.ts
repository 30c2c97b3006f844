import { Transform, Type } from 'class-transformer';
import { asList } from '../wire/shape.js';
import {
  Choice,
  Decimal,
  DecimalList,
  Flag,
  NestedList,
  Nested,
  Text,
  TextList,
  Uuid,
  Whole,
} from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';
import { MAX_KEY } from './feedback-request.js';

const MAX_CATEGORIES = 100;
const MAX_NUMBER = 1e15;
const NUMBER = { min: -MAX_NUMBER, max: MAX_NUMBER };

/** A value of feedback with its label. */
export class FeedbackCategory {
  @Decimal({ required: true, ...NUMBER })
  value: number;

  @Text({ maxLength: 180 })
  label?: string | null;
}

/** Interpretation of feedback. */
export class FeedbackConfigContent {
  @Choice(['continuous', 'categorical', 'freeform'], { required: true })
  type: 'continuous' | 'categorical' | 'freeform';

  @Decimal({ ...NUMBER, about: 'Of continuous feedback' })
  min?: number | null;

  @Decimal({ ...NUMBER, about: 'Of continuous feedback' })
  max?: number | null;

  @NestedList(() => FeedbackCategory, {
    maxSize: MAX_CATEGORIES,
    about: 'Of categorical feedback, two or more',
  })
  categories?: FeedbackCategory[] | null;

  @Flag({ about: 'Whether several categories may be given at once' })
  allows_multiple_categories?: boolean | null;
}

/** Body of `POST /feedback-configs`. */
export class CreateFeedbackConfigRequest {
  @Text({ required: true, minLength: 1, maxLength: MAX_KEY, isUnicode: true })
  feedback_key: string;

  @Nested(() => FeedbackConfigContent, { required: true })
  feedback_config: FeedbackConfigContent;

  @Flag({ about: 'False when absent' })
  is_lower_score_better?: boolean | null;

  @Flag({ about: 'Not supported when true' })
  is_enforced?: boolean | null;
}

/** Body of `PATCH /feedback-configs`. */
export class UpdateFeedbackConfigRequest {
  @Text({ required: true, minLength: 1, maxLength: MAX_KEY, isUnicode: true })
  feedback_key: string;

  @Uuid({ about: 'Of the configuration; a key has one' })
  id?: string | null;

  @Nested(() => FeedbackConfigContent, { about: 'Replaces the whole configuration' })
  feedback_config?: FeedbackConfigContent | null;

  @Flag()
  is_lower_score_better?: boolean | null;

  @NestedList(() => FeedbackCategory, { maxSize: MAX_CATEGORIES, about: 'Are added to those that there are' })
  add_categories?: FeedbackCategory[] | null;

  @DecimalList({ maxSize: MAX_CATEGORIES, about: 'Values of categories that are taken away' })
  remove_categories?: number[] | null;
}

/** Query of `GET /feedback-configs`. */
export class FeedbackConfigsQuery {
  @TextList({ maxSize: 100, maxLength: MAX_KEY, about: 'Keys' })
  @Transform(asList)
  key?: string[];

  @Text({ maxLength: MAX_KEY, about: 'Part of a key' })
  name_contains?: string;

  @QueryFlag({ about: 'Taken and without effect: a key has one configuration' })
  include_all_configs?: boolean;

  @QueryFlag({ about: 'True answers none: no configuration is enforced' })
  is_enforced?: boolean;

  @Whole({ min: 1, max: 100, fallback: 100, about: 'Most items to answer' })
  @Type(() => Number)
  limit: number = 100;

  @Whole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Items to skip' })
  @Type(() => Number)
  offset: number = 0;
}

/** Query of `DELETE /feedback-configs`: one of both. */
export class DeleteFeedbackConfigQuery {
  @Text({ maxLength: MAX_KEY })
  feedback_key?: string;

  @Uuid()
  id?: string;
}
