import { formatInstant, type Instant } from '#lib/time';
import type { ModelPrice, PriceDetails } from '#lib/trace-store';
import { Answered, FLAG, orNull, TEXT, textList, textMap, TIME, UUID, WHOLE } from '../wire/shape.js';

/** A row of the price table on the wire. */
export class PriceAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(orNull(UUID), 'Null for a row of the platform that is as it was shipped') readonly tenant_id:
    string | null;
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT, 'RE2') readonly match_pattern: string;
  @Answered(textList()) readonly match_path: readonly string[];
  @Answered(orNull(WHOLE), 'Only prompts of at most so many tokens; null: any, as of all own rows')
  readonly max_prompt_tokens: number | null;
  @Answered(orNull(TEXT), 'Null: any') readonly provider: string | null;
  @Answered(orNull(TIME), 'Null: always') readonly start_time: string | null;
  @Answered(TEXT, 'Dollars for a token, a decimal') readonly prompt_cost: string;
  @Answered(TEXT, 'Dollars for a token, a decimal') readonly completion_cost: string;
  @Answered(orNull(textMap()), 'By kind of tokens') readonly prompt_cost_details: PriceDetails | null;
  @Answered(orNull(textMap()), 'By kind of tokens') readonly completion_cost_details: PriceDetails | null;
  @Answered(FLAG, 'Whether the platform brings it') readonly built_in: boolean;
  @Answered(FLAG, 'Whether it prices no run') readonly disabled: boolean;
  @Answered(textList(), 'Pages where the prices of the platform were read')
  readonly sources: readonly string[];
  @Answered(orNull(TEXT), 'When they were read, YYYY-MM-DD') readonly read_on: string | null;
  @Answered(orNull(TIME)) readonly created_at: string | null;
  @Answered(orNull(TIME)) readonly updated_at: string | null;
}

function time(instant: Instant | undefined): string | null {
  return instant === undefined ? null : formatInstant(instant);
}

export function renderPrice(tenantId: string, price: ModelPrice): PriceAnswer {
  return {
    id: price.id,
    tenant_id: price.isOwn ? tenantId : null,
    name: price.name,
    match_pattern: price.matchPattern,
    match_path: price.matchPath,
    max_prompt_tokens: price.maxPromptTokens ?? null,
    provider: price.provider ?? null,
    start_time: time(price.startTime),
    prompt_cost: price.promptCost,
    completion_cost: price.completionCost,
    prompt_cost_details: price.promptCostDetails ?? null,
    completion_cost_details: price.completionCostDetails ?? null,
    built_in: price.isBuiltIn,
    disabled: price.isDisabled,
    sources: price.sources,
    read_on: price.readOn ?? null,
    created_at: time(price.createdAt),
    updated_at: time(price.updatedAt),
  };
}
