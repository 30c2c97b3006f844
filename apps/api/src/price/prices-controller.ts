import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { StoredAnswer } from '../trace/run-answer.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { PriceAnswer, renderPrice } from './price-answer.js';
import { PriceRequest, PricesQuery, ReplacePriceRequest } from './price-request.js';
import { Prices } from './prices.js';

const CONFLICT = 'An equal row exists, or the workspace has as many as it may';

/** Prices of models, by which runs get their costs. */
@Described(({ ApiTags }) => ApiTags('Prices'))
@Controller(['model-price-map', 'api/v1/model-price-map'])
export class PricesController {
  constructor(private readonly prices: Prices) {}

  @Get()
  @Operation({
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

  @Post()
  @HttpCode(200)
  @Operation({ summary: 'Adds a price', answer: PriceAnswer, refuses: { 409: CONFLICT } })
  async create(@FromCaller() { tenantId }: Caller, @Body() body: PriceRequest): Promise<PriceAnswer> {
    return renderPrice(tenantId, await this.prices.create(tenantId, body));
  }

  @Put()
  @Operation({
    summary: 'Puts a price in the place of the one of its name, provider and start time, or adds it',
    answer: PriceAnswer,
    refuses: { 409: CONFLICT },
  })
  async put(@FromCaller() { tenantId }: Caller, @Body() body: PriceRequest): Promise<PriceAnswer> {
    return renderPrice(tenantId, await this.prices.put(tenantId, body));
  }

  @Put(':price_id')
  @Operation({
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

  @Delete(':price_id')
  @Operation({ summary: 'Deletes a price; one of the platform is disabled instead', answer: StoredAnswer })
  async delete(@FromCaller() { tenantId }: Caller, @PathId('price_id') id: string): Promise<StoredAnswer> {
    const outcome = await this.prices.delete(tenantId, id);
    return { message: `Model price ${outcome}` };
  }
}
