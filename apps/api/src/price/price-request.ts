import { Type } from 'class-transformer';
import { DEFAULT_MEMBERS, PRICE_LIMITS } from '#lib/trace-store';
import { Flag, Text, TextList, Time, Whole } from '../wire/fields.js';
import { Price, PriceMap } from './price-fields.js';

const ABOUT = {
  name: 'For people',
  pattern:
    'RE2, found anywhere in the name of a model: `^gpt-4o$` is that model alone. Look-around and back-references are not supported',
  prompt: 'Dollars for a token of the prompt',
  completion: 'Dollars for a token of the completion',
};
const NAME = { minLength: 1, maxLength: PRICE_LIMITS.name, isUnicode: true, about: ABOUT.name };
const PATTERN = { minLength: 1, maxLength: PRICE_LIMITS.pattern, isUnicode: true, about: ABOUT.pattern };

/** Members that any form of a row may have. */
class PriceDetailsRequest {
  @TextList({
    maxSize: PRICE_LIMITS.members,
    maxLength: PRICE_LIMITS.member,
    about: `Members of \`extra.invocation_params\` and of metadata that may name the model; \`ls_model_name\` always does. ${DEFAULT_MEMBERS.join(', ')} when absent`,
  })
  match_path?: string[] | null;

  @Text({
    minLength: 1,
    maxLength: PRICE_LIMITS.provider,
    isUnicode: true,
    about: 'Only runs whose metadata name this provider (`ls_provider`), in any case',
  })
  provider?: string | null;

  @Time({ about: 'Only runs that began then or later' })
  start_time?: string | null;

  @PriceMap({
    about: 'By kind of tokens (`input_token_details`), such as cache_read, cache_creation and audio',
  })
  prompt_cost_details?: Record<string, string | number> | null;

  @PriceMap({ about: 'By kind of tokens (`output_token_details`), such as reasoning and audio' })
  completion_cost_details?: Record<string, string | number> | null;
}

/** Body of `POST` and `PUT /model-price-map`. */
export class PriceRequest extends PriceDetailsRequest {
  @Text({ ...NAME, required: true })
  name: string;

  @Text({ ...PATTERN, required: true })
  match_pattern: string;

  @Price({ required: true, about: ABOUT.prompt })
  prompt_cost: string | number;

  @Price({ required: true, about: ABOUT.completion })
  completion_cost: string | number;
}

/** Body of `PUT /model-price-map/{id}`: the whole row, or `disabled` alone. */
export class ReplacePriceRequest extends PriceDetailsRequest {
  @Text(NAME)
  name?: string | null;

  @Text(PATTERN)
  match_pattern?: string | null;

  @Price({ about: ABOUT.prompt })
  prompt_cost?: string | number | null;

  @Price({ about: ABOUT.completion })
  completion_cost?: string | number | null;

  @Flag({
    about:
      'Alone in the body: whether the row prices no run. A row of the platform that is enabled is as it was shipped',
  })
  disabled?: boolean | null;
}

/** Query of `GET /model-price-map`. */
export class PricesQuery {
  @Text({ maxLength: 200, about: 'Text that name, pattern or provider contain, in any case' })
  q?: string;

  @Whole({ min: 1, max: 1_000, fallback: 1_000, about: 'Most items to answer' })
  @Type(() => Number)
  limit: number = 1_000;

  @Whole({ min: 0, max: 1_000_000, fallback: 0, about: 'Items to skip' })
  @Type(() => Number)
  offset: number = 0;
}
