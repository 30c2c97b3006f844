import { Body, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { formatInstant, type Instant } from '#lib/time';
import type { ModelPrice, PriceDetails } from '#lib/trace-store';
import { FromCaller } from '../tenancy/caller.js';
import { StoredAnswer } from '../trace/run-answer.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Get, Post, Put, Delete } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';
import { Answered, FLAG, orNull, TEXT, textList, textMap, TIME, UUID, WHOLE } from '../wire/shape.js';
import { PriceRequest, PricesQuery, ReplacePriceRequest } from './price-request.js';
import { Prices } from './prices.js';

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

function renderPrice(tenantId: string, price: ModelPrice): PriceAnswer {
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

const CONFLICT = 'An equal row exists, or the workspace has as many as it may';

/** Prices of models, by which runs get their costs. */
@Resource('Prices', ['model-price-map', 'api/v1/model-price-map'])
export class PricesController {
  constructor(private readonly prices: Prices) {}

  @Get('', READ, {
    summary: 'Prices of models: those of the workspace, newest first, then those of the platform',
    answer: [PriceAnswer],
  })
  async list(
    @FromCaller() { tenantId }: Caller,
    @Query() query: PricesQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PriceAnswer[]> {
    const found = await this.prices.list(tenantId, query);
    void reply.header('x-pagination-total', found.length);
    const { offset, limit } = query;
    return found.slice(offset, offset + limit).map((price) => renderPrice(tenantId, price));
  }

  @Post('', WORKSPACE, { summary: 'Adds a price', answer: PriceAnswer, refuses: { 409: CONFLICT } })
  async create(@FromCaller() { tenantId }: Caller, @Body() body: PriceRequest): Promise<PriceAnswer> {
    return renderPrice(tenantId, await this.prices.create(tenantId, body));
  }

  @Put('', WORKSPACE, {
    summary: 'Puts a price in the place of the one of its name, provider and start time, or adds it',
    answer: PriceAnswer,
    refuses: { 409: CONFLICT },
  })
  async put(@FromCaller() { tenantId }: Caller, @Body() body: PriceRequest): Promise<PriceAnswer> {
    return renderPrice(tenantId, await this.prices.put(tenantId, body));
  }

  @Put(':price_id', WORKSPACE, {
    summary:
      'Replaces a price, or disables and enables it; of the platform’s the workspace gets its own version',
    answer: PriceAnswer,
    refuses: { 409: CONFLICT },
  })
  async replace(
    @FromCaller() { tenantId }: Caller,
    @PathId('price_id') id: string,
    @Body() body: ReplacePriceRequest,
  ): Promise<PriceAnswer> {
    return renderPrice(tenantId, await this.prices.replace(tenantId, id, body));
  }

  @Delete(':price_id', WORKSPACE, {
    summary: 'Deletes a price; one of the platform is disabled instead',
    answer: StoredAnswer,
  })
  async delete(@FromCaller() { tenantId }: Caller, @PathId('price_id') id: string): Promise<StoredAnswer> {
    const outcome = await this.prices.delete(tenantId, id);
    return { message: `Model price ${outcome}` };
  }
}
