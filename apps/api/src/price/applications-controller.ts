import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import {
  PriceApplicationAnswer,
  renderApplication,
  renderUnmatched,
  UnmatchedModelAnswer,
} from './application-answer.js';
import { ApplyPricesRequest, UnmatchedQuery } from './application-request.js';
import { PriceApplications } from './applications.js';

/** Stored runs and the price table. */
@Described(({ ApiTags }) => ApiTags('Prices'))
@Controller(['model-price-map', 'api/v1/model-price-map'])
export class PriceApplicationsController {
  constructor(private readonly applications: PriceApplications) {}

  @Get('unmatched')
  @Operation({
    summary: 'Models whose runs have tokens and no cost, those with most runs first',
    answer: [UnmatchedModelAnswer],
    refuses: { 400: 'Counting them takes too long', 404: 'The tracing project does not exist' },
  })
  async unmatched(
    @FromCaller() { tenantId }: Caller,
    @Query() query: UnmatchedQuery,
  ): Promise<UnmatchedModelAnswer[]> {
    return (await this.applications.unmatched(tenantId, query)).map(renderUnmatched);
  }

  @Post('apply')
  @HttpCode(202)
  @Operation({
    summary: 'Prices runs of a project again, in the background, but those whose senders gave a cost',
    status: 202,
    answer: PriceApplicationAnswer,
    refuses: { 404: 'The tracing project does not exist' },
  })
  async apply(
    @FromCaller() { tenantId }: Caller,
    @Body() body: ApplyPricesRequest,
  ): Promise<PriceApplicationAnswer> {
    return renderApplication(await this.applications.apply(tenantId, body));
  }

  @Get('apply')
  @Operation({ summary: 'What was priced again, newest first', answer: [PriceApplicationAnswer] })
  async list(@FromCaller() { tenantId }: Caller): Promise<PriceApplicationAnswer[]> {
    return (await this.applications.list(tenantId)).map(renderApplication);
  }

  @Get('apply/:application_id')
  @Operation({ summary: 'How far pricing again came', answer: PriceApplicationAnswer })
  async get(
    @FromCaller() { tenantId }: Caller,
    @PathId('application_id') id: string,
  ): Promise<PriceApplicationAnswer> {
    return renderApplication(await this.applications.get(tenantId, id));
  }
}
