import { Body, Controller, Delete, Get, Header, HttpCode, Inject, Post, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { TraceStore } from '#lib/trace-store';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { allRuns, rendered, withAttachments } from '../trace/all-runs.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { fieldsOfSelects } from '../trace/run-fields-v2.js';
import { RunV2Answer, TraceRunsAnswer } from '../trace/runs-query-answer.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import {
  SelectedShareAnswer,
  SelectedSharedRunsRequest,
  SelectedShareRequest,
  SharedRunQuery,
  UnshareRequest,
} from './share-request.js';
import { SharedRuns } from './shared-runs.js';
import { AskedOrigin, clientAddress } from '../wire/origin-of.js';

const JSON_TYPE = 'application/json; charset=utf-8';
const PAGE = 100;
const UNKNOWN = 'The link does not exist, or sharing was ended';
const BUSY = 'Too much is read at once, or too many unknown links were opened from this address';

/** Links that open traces for anyone, on the wire of the newer clients. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller('api/v2/runs')
export class SelectedSharesController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'shares'>) {}

  @Post(':run_id/share')
  @HttpCode(200)
  @Operation({
    summary: 'Shares the trace of a run by a link; again: answers the same',
    answer: SelectedShareAnswer,
    refuses: { 409: 'The run stands in several traces: name session_id or trace_id' },
  })
  async share(
    @FromCaller() { tenantId }: Caller,
    @PathId('run_id') runId: string,
    @Body() { session_id: projectId, trace_id: traceId }: SelectedShareRequest,
  ): Promise<SelectedShareAnswer> {
    const shared = await this.store.shares.share(tenantId, {
      id: runId,
      projectId: projectId ?? undefined,
      traceId: traceId ?? undefined,
    });
    if (!shared) throw new PublicError('not_found', `Run with ID ${runId} not found`);
    return { share_token: shared.token };
  }

  @Delete(':run_id/share')
  @HttpCode(204)
  @Operation({ summary: 'Ends the links of all traces that the run stands in', status: 204 })
  async unshare(
    @FromCaller() { tenantId }: Caller,
    @PathId('run_id') runId: string,
    @Body() { session_id: projectId }: UnshareRequest,
  ): Promise<void> {
    if (!(await this.store.shares.unshare(tenantId, { id: runId, projectId: projectId ?? undefined })))
      throw new PublicError('not_found', `Run with ID ${runId} not found`);
  }
}

/** Shared traces in the API of the newer clients, for every holder of a link's token. */
@Described(({ ApiTags }) => ApiTags('Shared'))
@Controller('api/v2/public')
export class SelectedPublicController {
  constructor(
    private readonly shared: SharedRuns,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
  ) {}

  @Get(':share_token/run/:run_id')
  @Header('content-type', JSON_TYPE)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'A run of a shared trace; no key is needed',
    answer: RunV2Answer,
    refuses: { 404: UNKNOWN, 429: BUSY },
  })
  async run(
    @PathId('share_token') token: string,
    @PathId('run_id') runId: string,
    @Query() { selects }: SharedRunQuery,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const caller = await this.shared.open(token, clientAddress(reply.request));
    const fields = fieldsOfSelects(selects);
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const { runs } = await this.shared.page(caller, { fields, ids: [runId], limit: 1 }, hold);
      if (runs.length === 0) throw new PublicError('not_found', UNKNOWN);
      return rendered(
        await withAttachments(this.urls, { caller, share: token, origin, hold }, runs, fields),
        fields,
      );
    });
  }

  @Post(':share_token/runs/query')
  @HttpCode(200)
  @Header('content-type', JSON_TYPE)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'All runs of a shared trace; no key is needed',
    answer: TraceRunsAnswer,
    refuses: { 404: UNKNOWN, 429: BUSY },
  })
  async runs(
    @PathId('share_token') token: string,
    @Body() { selects }: SelectedSharedRunsRequest,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const caller = await this.shared.open(token, clientAddress(reply.request));
    const fields = fieldsOfSelects(selects);
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const reader = { caller, share: token, origin, hold: account.hold };
      const page = (cursor?: string) =>
        this.shared.page(caller, { fields, limit: PAGE, cursor }, account.hold);
      return allRuns(page, account, fields, (runs) => withAttachments(this.urls, reader, runs, fields));
    });
  }
}
