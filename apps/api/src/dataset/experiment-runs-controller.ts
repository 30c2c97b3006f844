import { Readable } from 'node:stream';
import { Body, Controller, Header, HttpCode, Post, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import type { PublicError } from '#lib/errors';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { RUN_FIELDS } from '../trace/render-run.js';
import { fieldsOfSelects } from '../trace/run-fields-v2.js';
import { Described } from '../wire/described.js';
import { jsonList } from '../wire/json-list.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { invalid } from '../wire/request-pipe.js';
import { ExampleWithRunsAnswer, ExperimentRunsPageAnswer } from './example-answer.js';
import { ExperimentRunsPageRequest, ExperimentRunsRequest } from './experiment-runs-request.js';
import { ExperimentRuns } from './experiment-runs.js';
import { parseOffset, renderOffset } from './offset-cursor.js';
import { AskedOrigin } from '../wire/origin-of.js';

/** Examples of a page. */
const MOST = 100;
const USUAL = 20;

const REFUSES = {
  400: 'A filter has no meaning, or finding the runs takes too long',
  404: 'The dataset does not exist, or has no such experiment',
  429: 'Too much is read at once',
} as const;

/** Runs of experiments on the examples of a dataset. */
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
    refuses: REFUSES,
  })
  async query(
    @FromCaller() caller: Caller,
    @PathId('dataset_id') datasetId: string,
    @Body() body: ExperimentRunsRequest,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const found = await this.runs.find(caller.tenantId, datasetId, {
        ids: body.session_ids,
        idsField: 'session_ids',
        filters: body.filters,
        comparative: body.comparative_experiment_id,
        limit: body.limit ?? MOST,
        offset: body.offset ?? 0,
      });
      const pieces = this.runs.pieces({ caller, origin, account }, found, RUN_FIELDS);
      // problems of the request are found with the first piece, before the answer begins
      return Readable.from(jsonList(await pieces.next(), pieces), { objectMode: false });
    });
  }
}

/** The same on the wire of the newer clients. */
@Described(({ ApiTags }) => ApiTags('Datasets'))
@Controller('api/v2/datasets/:dataset_id/experiment-runs')
export class SelectedExperimentRunsController {
  constructor(
    private readonly runs: ExperimentRuns,
    private readonly answers: AnswerBudget,
  ) {}

  @Post()
  @HttpCode(200)
  @Header('content-type', 'application/json; charset=utf-8')
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'A page of examples of a dataset, each with the selected fields of its runs in experiments',
    answer: ExperimentRunsPageAnswer,
    refuses: REFUSES,
  })
  async query(
    @FromCaller() caller: Caller,
    @PathId('dataset_id') datasetId: string,
    @Body() body: ExperimentRunsPageRequest,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (body.sort) throw notSorted();
    const [limit, offset] = [body.page_size ?? USUAL, parseOffset(body.cursor)];
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const found = await this.runs.find(caller.tenantId, datasetId, {
        ids: body.experiment_ids,
        idsField: 'experiment_ids',
        filters: body.filters,
        limit,
        offset,
        exampleIds: body.example_ids ?? undefined,
        comparative: body.comparative_experiment_id,
      });
      const pieces = this.runs.pieces({ caller, origin, account }, found, fieldsOfSelects(body.selects));
      const items = jsonList(await pieces.next(), pieces);
      const next = found.isMore ? renderOffset(offset + limit) : null;
      return Readable.from(page(items, next), { objectMode: false });
    });
  }
}

async function* page(items: AsyncIterable<Buffer>, next: string | null): AsyncGenerator<Buffer, void, void> {
  yield Buffer.from('{"items":');
  yield* items;
  yield Buffer.from(`,"next_cursor":${JSON.stringify(next)}}`);
}

function notSorted(): PublicError {
  const msg = 'examples come in the order in which they were made; leave it out';
  return invalid([{ loc: ['body', 'sort'], msg, type: 'value_error' }]);
}
