import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { WantedRunsRequest } from '../trace/runs-query-request.js';
import { renderStatistics, RunStatisticsAnswer } from '../trace/statistics-answer.js';
import { wantedBy } from '../trace/wanted-by.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { Statistics } from './statistics.js';

/** Statistics of runs, on the wire of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller(['runs', 'api/v1/runs'])
export class StatisticsController {
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
