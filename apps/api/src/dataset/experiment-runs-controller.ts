import { Readable } from 'node:stream';
import { Body, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { AnswerBudget } from '../core/answer-budget.js';
import { FromCaller } from '../tenancy/caller.js';
import { fieldsOfSelects, RUN_FIELDS, SELECTS } from '../trace/run-fields.js';
import { Resource } from '../wire/operation.js';
import { Flag, FreeObject, Text, TextList, Uuid, Whole } from '../wire/fields.js';
import { jsonList } from '../wire/json-list.js';
import { AskedOrigin } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { Post } from '../wire/route.js';
import { READ } from '../wire/route-access.js';
import { MOST_NAMED } from './dataset-request.js';
import { ExampleWithRunsAnswer, ExperimentRunsPageAnswer } from './example.js';
import { ExperimentRuns } from './experiment-runs.js';
import { wrongField } from '../wire/request-pipe.js';

const CURSOR = /^o(\d{1,10})$/;

/** The page that begins behind so many items of a list that only grows at its end. */
function renderOffset(offset: number): string {
  return Buffer.from(`o${offset}`).toString('base64url');
}

/** @throws PublicError bad_request */
function parseOffset(cursor: string | null | undefined): number {
  if (!cursor) return 0;
  const [, offset] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (offset !== undefined && Number(offset) < 2 ** 31) return Number(offset);
  throw new PublicError('bad_request', 'cursor is none that a page was answered with; begin without one');
}

const MOST_EXPERIMENTS = 10;
const PAGE = 100;
const USUAL_PAGE = 20;

/** Body of `POST /datasets/{dataset_id}/runs`. */
class ExperimentRunsRequest {
  @TextList({
    required: true,
    minSize: 1,
    maxSize: MOST_EXPERIMENTS,
    about: 'Ids of experiments of the dataset',
  })
  session_ids: string[];

  @Whole({ min: 1, max: PAGE, fallback: PAGE, about: 'Most examples' })
  limit?: number | null;

  @Whole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Examples to skip' })
  offset?: number | null;

  @FreeObject({ about: 'By the id of an experiment: filters that its runs meet, all of them' })
  filters?: object | null;

  @Flag({ about: 'Taken and without effect: inputs and outputs are always whole' })
  preview?: boolean | null;

  @Uuid({ about: 'Not supported: comparisons of experiments are not kept' })
  comparative_experiment_id?: string | null;
}

/** Body of `POST /api/v2/datasets/{dataset_id}/experiment-runs`. */
class ExperimentRunsPageRequest {
  @TextList({
    required: true,
    minSize: 1,
    maxSize: MOST_EXPERIMENTS,
    about: 'Ids of experiments of the dataset',
  })
  experiment_ids: string[];

  @TextList({ maxSize: MOST_NAMED, about: 'Ids of examples; all of the dataset without them' })
  example_ids?: string[] | null;

  @FreeObject({ about: 'By the id of an experiment: filters that its runs meet, all of them' })
  filters?: object | null;

  @TextList({
    maxSize: SELECTS.size,
    choices: [...SELECTS.keys()],
    about: 'Fields of the runs to answer; ID alone when absent',
  })
  selects?: string[] | null;

  @Text({ maxLength: 200, about: 'next_cursor of the page before' })
  cursor?: string | null;

  @Whole({ min: 1, max: PAGE, fallback: USUAL_PAGE, about: 'Most examples of a page' })
  page_size?: number | null;

  @FreeObject({ about: 'Not supported: examples come in the order in which they were made' })
  sort?: object | null;

  @Uuid({ about: 'Not supported: comparisons of experiments are not kept' })
  comparative_experiment_id?: string | null;
}

/** Examples of a page. */
const MOST = 100;
const USUAL = 20;

const REFUSES = {
  400: 'A filter has no meaning, or finding the runs takes too long',
  404: 'The dataset does not exist, or has no such experiment',
  429: 'Too much is read at once',
} as const;

/** Runs of experiments on the examples of a dataset. */
@Resource('Datasets', ['datasets/:dataset_id/runs', 'api/v1/datasets/:dataset_id/runs'])
export class ExperimentRunsController {
  constructor(
    private readonly runs: ExperimentRuns,
    private readonly answers: AnswerBudget,
  ) {}

  @Post('', READ, {
    summary:
      'Examples of a dataset, each with its runs in experiments; as they were when the first one began',
    answer: [ExampleWithRunsAnswer],
    refuses: REFUSES,
    sends: 'counted json',
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
@Resource('Datasets', 'api/v2/datasets/:dataset_id/experiment-runs')
export class SelectedExperimentRunsController {
  constructor(
    private readonly runs: ExperimentRuns,
    private readonly answers: AnswerBudget,
  ) {}

  @Post('', READ, {
    summary: 'A page of examples of a dataset, each with the selected fields of its runs in experiments',
    answer: ExperimentRunsPageAnswer,
    refuses: REFUSES,
    sends: 'counted json',
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
  return wrongField(['body', 'sort'], msg);
}
