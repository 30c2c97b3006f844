import { Body, Inject } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Put, Get, Delete } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';
import { ShareAnswer, ShareRequest } from './share-request.js';
import { wrongField } from '../wire/request-pipe.js';

function notFound(runId: string): PublicError {
  return new PublicError('not_found', `Run with ID ${runId} not found`);
}

/** Links that open the trace of a run for anyone. */
@Resource('Runs', ['runs', 'api/v1/runs'])
export class SharesController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'shares'>) {}

  @Put(':run_id/share', WORKSPACE, {
    summary: 'Shares the trace of a run by a link; again: answers the same',
    answer: ShareAnswer,
    refuses: { 409: 'The run stands in several traces: name one at /api/v2/runs/{run_id}/share' },
    config: { takesText: true },
  })
  async share(
    @FromCaller() { tenantId }: Caller,
    @PathId('run_id') runId: string,
    @Body() { run_id: named }: ShareRequest,
  ): Promise<ShareAnswer> {
    if (named && named.toLowerCase() !== runId)
      throw wrongField(['body', 'run_id'], 'Input should be the run of the address');
    const shared = await this.store.shares.share(tenantId, { id: runId });
    if (!shared) throw notFound(runId);
    return { run_id: runId, share_token: shared.token };
  }

  @Get(':run_id/share', READ, {
    summary: 'The link of a run; an empty object while its trace is not shared',
    answer: ShareAnswer,
    refuses: { 409: 'The run stands in several shared traces' },
  })
  async find(@FromCaller() { tenantId }: Caller, @PathId('run_id') runId: string): Promise<ShareAnswer> {
    const found = await this.store.shares.find(tenantId, runId);
    if (!found) throw notFound(runId);
    return found.token === undefined ? {} : { run_id: runId, share_token: found.token };
  }

  @Delete(':run_id/share', WORKSPACE, {
    summary: 'Ends the links of all traces that the run stands in',
    status: 204,
  })
  async unshare(@FromCaller() { tenantId }: Caller, @PathId('run_id') runId: string): Promise<void> {
    if (!(await this.store.shares.unshare(tenantId, { id: runId }))) throw notFound(runId);
  }
}
