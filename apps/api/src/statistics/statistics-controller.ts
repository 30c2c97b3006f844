import { Body } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import type { RunStatistics, TraceStore } from '#lib/trace-store';
import { FromCaller } from '../tenancy/caller.js';
import { RunSearches, type WantedRuns } from '../trace/run-searches.js';
import { WantedRunsRequest } from '../trace/runs-query.js';
import { renderStatistics, RunStatisticsAnswer } from '../trace/statistics-answer.js';
import { wantedBy } from '../trace/wanted-by.js';
import { Resource } from '../wire/operation.js';
import { Post } from '../wire/route.js';
import { READ_RUNS } from '../wire/route-access.js';

/** Adds up runs for a caller, in the projects that its key reaches. */
export class Statistics {
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
@Resource('Runs', ['runs', 'api/v1/runs'])
export class StatisticsController {
  constructor(private readonly statistics: Statistics) {}

  @Post('stats', READ_RUNS, {
    summary: 'What the runs that are wanted add up to',
    answer: RunStatisticsAnswer,
    refuses: { 400: 'A filter is no such thing, or adding up the runs takes too long' },
  })
  async stats(@FromCaller() caller: Caller, @Body() body: WantedRunsRequest): Promise<object> {
    return renderStatistics(await this.statistics.ofRuns(caller, wantedBy(body)));
  }
}
