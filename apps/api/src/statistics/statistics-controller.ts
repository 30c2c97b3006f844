import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import type { RunStatistics, TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { RunSearches, type WantedRuns } from '../trace/run-searches.js';
import { WantedRunsRequest } from '../trace/runs-query-request.js';
import { renderStatistics, RunStatisticsAnswer } from '../trace/statistics-answer.js';
import { wantedBy } from '../trace/wanted-by.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';

/** Adds up runs for a caller, in the projects that its key reaches. */
class Statistics {
  constructor(
    private readonly store: Pick<TraceStore, 'statistics'>,
    private readonly searches: Pick<RunSearches, 'searchOf'>,
  ) {}

  /** @throws PublicError not_found (a project), bad_request, invalid */
  async ofRuns(caller: Caller, wanted: WantedRuns): Promise<RunStatistics> {
    const search = (await this.searches.searchOf(caller, wanted)) ?? { projectIds: [] };
    return this.store.statistics.ofRuns(caller.tenantId, search);
  }
}

/** Statistics of runs, on the wire of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller(['runs', 'api/v1/runs'])
class StatisticsController {
  constructor(private readonly statistics: Statistics) {}

  @Post('stats')
  @HttpCode(200)
  @Operation({
    summary: 'What the runs that are wanted add up to',
    answer: RunStatisticsAnswer,
    refuses: { 400: 'A filter is no such thing, or adding up the runs takes too long' },
  })
  async stats(@FromCaller() caller: Caller, @Body() body: WantedRunsRequest): Promise<object> {
    return renderStatistics(await this.statistics.ofRuns(caller, wantedBy(body)));
  }
}

/** Sums of runs. */
@Module({
  controllers: [StatisticsController],
  providers: [
    {
      provide: Statistics,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new Statistics(store, new RunSearches(store)),
    },
  ],
})
export class StatisticsModule {}
