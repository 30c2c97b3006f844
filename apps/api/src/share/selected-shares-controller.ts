import { Body, Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { TraceStore } from '#lib/trace-store';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { allRuns, rendered, withAttachments } from '../trace/all-runs.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { fieldsOfSelects, RunV2Answer } from '../trace/run-fields.js';
import { TraceRunsAnswer } from '../trace/runs-query.js';
import { Resource } from '../wire/operation.js';
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
import { Post, Delete, Get } from '../wire/route.js';
import { publicly, WORKSPACE } from '../wire/route-access.js';

const PAGE = 100;
const UNKNOWN = 'The link does not exist, or sharing was ended';
const BUSY = 'Too much is read at once, or too many unknown links were opened from this address';

/** Links that open traces for anyone, on the wire of the newer clients. */
@Resource('Runs', 'api/v2/runs')
export class SelectedSharesController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'shares'>) {}

  @Post(':run_id/share', WORKSPACE, {
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

  @Delete(':run_id/share', WORKSPACE, {
    summary: 'Ends the links of all traces that the run stands in',
    status: 204,
  })
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
@Resource('Shared', 'api/v2/public')
export class SelectedPublicController {
  constructor(
    private readonly shared: SharedRuns,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
  ) {}

  @Get(':share_token/run/:run_id', publicly('the token of a shared trace'), {
    summary: 'A run of a shared trace; no key is needed',
    answer: RunV2Answer,
    refuses: { 404: UNKNOWN, 429: BUSY },
    sends: 'counted json',
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

  @Post(':share_token/runs/query', publicly('the token of a shared trace'), {
    summary: 'All runs of a shared trace; no key is needed',
    answer: TraceRunsAnswer,
    refuses: { 404: UNKNOWN, 429: BUSY },
    sends: 'counted json',
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
