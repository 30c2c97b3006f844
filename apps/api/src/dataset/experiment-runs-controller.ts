import { Readable } from 'node:stream';
import { Body, Controller, Header, Headers, HttpCode, Post, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../trace/answer-budget.js';
import { Described } from '../wire/described.js';
import { jsonList } from '../wire/json-list.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { ExampleWithRunsAnswer } from './example-answer.js';
import { ExperimentRunsRequest } from './experiment-runs-request.js';
import { ExperimentRuns } from './experiment-runs.js';

/** What experiments made of the examples of a dataset. */
@Described(({ ApiTags }) => ApiTags('Datasets'))
@Controller(['datasets/:dataset_id/runs', 'api/v1/datasets/:dataset_id/runs'])
export class ExperimentRunsController {
  constructor(
    private readonly runs: ExperimentRuns,
    private readonly answers: AnswerBudget,
  ) {}

  @Post()
  @HttpCode(200)
  @Header('content-type', 'application/json; charset=utf-8')
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary:
      'Examples of a dataset, each with its runs in experiments; as they were when the first one began',
    answer: [ExampleWithRunsAnswer],
    refuses: {
      400: 'A filter has no meaning, or finding the runs takes too long',
      404: 'The dataset does not exist, or has no such experiment',
      429: 'Too much is read at once',
    },
  })
  async query(
    @FromCaller() caller: Caller,
    @PathId('dataset_id') datasetId: string,
    @Body() body: ExperimentRunsRequest,
    @Headers('host') host: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const found = await this.runs.find(caller.tenantId, datasetId, body);
      const pieces = this.runs.pieces({ caller, host, account }, found);
      // what is wrong with the request is found with the first piece, before the answer begins
      return Readable.from(jsonList(await pieces.next(), pieces), { objectMode: false });
    });
  }
}
