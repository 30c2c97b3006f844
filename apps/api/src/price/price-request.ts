import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { DEFAULT_MEMBERS, parsePrice, PRICE_LIMITS } from '#lib/trace-store';
import { field, Flag, type InsideOptions, says, Text, TextList, Time } from '../wire/fields.js';
import { QueryWhole } from '../wire/query-flag.js';

const PRICE = {
  anyOf: [
    { type: 'number', minimum: 0, maximum: 1000 },
    { type: 'string', maxLength: 64 },
  ],
};
const PRICE_TEXT = 'from 0 to 1000 with at most 15 digits after the point';

/** Dollars for a token: a number, or a decimal as text. */
function Price(options: InsideOptions = {}): PropertyDecorator {
  return field(
    options,
    PRICE,
    ValidateBy(
      { name: 'isPrice', validator: { validate: (value) => parsePrice(value) !== undefined } },
      says(`Input should be a decimal ${PRICE_TEXT}`, 'decimal_parsing'),
    ),
  );
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** Prices by kind of tokens. */
function PriceMap(options: InsideOptions = {}): PropertyDecorator {
  const { details, detail } = PRICE_LIMITS;
  const isMap = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value);
  const isSmall = (value: unknown): boolean => {
    const entries = entriesOf(value);
    return (
      entries.length <= details &&
      entries.every(([kind]) => kind.length <= detail && kind.isWellFormed() && !kind.includes('\0'))
    );
  };
  const hasPrices = (value: unknown): boolean =>
    entriesOf(value).every(([, price]) => parsePrice(price) !== undefined);
  return field(
    options,
    { type: 'object', additionalProperties: PRICE, maxProperties: details },
    ValidateBy(
      { name: 'isPriceMap', validator: { validate: isMap } },
      says('Input should be a valid object', 'dict_type'),
    ),
    ValidateBy(
      { name: 'isSmall', validator: { validate: isSmall } },
      says(`Object should have at most ${details} names of at most ${detail} characters`, 'too_long'),
    ),
    ValidateBy(
      { name: 'hasPrices', validator: { validate: hasPrices } },
      says(`Every value should be a decimal ${PRICE_TEXT}`, 'decimal_parsing'),
    ),
  );
}

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

  @QueryWhole({ min: 1, max: 1_000, fallback: 1_000, about: 'Most items to answer' })
  limit: number = 1_000;

  @QueryWhole({ min: 0, max: 1_000_000, fallback: 0, about: 'Items to skip' })
  offset: number = 0;
}
