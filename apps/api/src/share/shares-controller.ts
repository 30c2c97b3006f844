import { Body, Controller, Delete, Get, HttpCode, Inject, Module, Put } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { WrongKeys } from '#lib/http';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { AttachmentModule } from '../attachment/attachment-module.js';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK, TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { RunSearches } from '../trace/run-searches.js';
import { TraceModule } from '../trace/trace-module.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { invalid } from '../wire/request-pipe.js';
import { PublicController } from './public-controller.js';
import { SelectedPublicController, SelectedSharesController } from './selected-shares-controller.js';
import { ShareAnswer, ShareRequest } from './share-request.js';
import { SharedRuns } from './shared-runs.js';

function notFound(runId: string): PublicError {
  return new PublicError('not_found', `Run with ID ${runId} not found`);
}

/** Links that open the trace of a run for anyone. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller(['runs', 'api/v1/runs'])
class SharesController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'shares'>) {}

  @Put(':run_id/share')
  @RouteConfig({ takesText: true })
  @Operation({
    summary: 'Shares the trace of a run by a link; again: answers the same',
    answer: ShareAnswer,
    refuses: { 409: 'The run stands in several traces: name one at /api/v2/runs/{run_id}/share' },
  })
  async share(
    @FromCaller() { tenantId }: Caller,
    @PathId('run_id') runId: string,
    @Body() { run_id: named }: ShareRequest,
  ): Promise<ShareAnswer> {
    if (named && named.toLowerCase() !== runId)
      throw invalid([
        { loc: ['body', 'run_id'], msg: 'Input should be the run of the address', type: 'value_error' },
      ]);
    const shared = await this.store.shares.share(tenantId, { id: runId });
    if (!shared) throw notFound(runId);
    return { run_id: runId, share_token: shared.token };
  }

  @Get(':run_id/share')
  @Operation({
    summary: 'The link of a run; an empty object while its trace is not shared',
    answer: ShareAnswer,
    refuses: { 409: 'The run stands in several shared traces' },
  })
  async find(@FromCaller() { tenantId }: Caller, @PathId('run_id') runId: string): Promise<ShareAnswer> {
    const found = await this.store.shares.find(tenantId, runId);
    if (!found) throw notFound(runId);
    return found.token === undefined ? {} : { run_id: runId, share_token: found.token };
  }

  @Delete(':run_id/share')
  @HttpCode(204)
  @Operation({ summary: 'Ends the links of all traces that the run stands in', status: 204 })
  async unshare(@FromCaller() { tenantId }: Caller, @PathId('run_id') runId: string): Promise<void> {
    if (!(await this.store.shares.unshare(tenantId, { id: runId }))) throw notFound(runId);
  }
}

/** Unknown links that are looked up in a second all the same, of all addresses: behind one may be many people. */
const CHANCES_PER_SECOND = 50;

/** Traces that links open for anyone. */
@Module({
  imports: [TraceModule, AttachmentModule, TenancyModule],
  controllers: [SharesController, PublicController, SelectedSharesController, SelectedPublicController],
  providers: [
    {
      provide: SharedRuns,
      inject: [TRACE_STORE, RunSearches, Workspaces, API_CONFIG, CLOCK],
      useFactory: (
        store: TraceStore,
        searches: RunSearches,
        workspaces: Workspaces,
        { wrongKeysPerMinute: perMinute }: Pick<ApiConfig, 'wrongKeysPerMinute'>,
        clock: Clock,
      ) => {
        const limits = { perMinute, chancesPerSecond: CHANCES_PER_SECOND, called: 'link', clock };
        return new SharedRuns(store, searches, workspaces, new WrongKeys(limits));
      },
    },
  ],
})
export class ShareModule {}
