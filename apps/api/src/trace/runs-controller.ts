import { Body, Controller, Get, Header, Headers, HttpCode, Patch, Post, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { PathId } from '../wire/path-id.js';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import { withAttachments } from './attached-runs.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { renderRun, RUN_FIELDS, SHORT_FIELDS } from './render-run.js';
import { ErasureRequest } from './erasure-request.js';
import { ErasedAnswer, RunAnswer, StoredPartsAnswer, StoredRunsAnswer } from './run-answer.js';
import {
  RunBatchRequest,
  RunMultipartRequest,
  RunQuery,
  RunRequest,
  RunUpdateRequest,
} from './run-request.js';
import { FromBody, type SentBody } from './sent-body.js';
import { type StoredRuns, TraceIngestion } from './trace-ingestion.js';
import { Traces } from './traces.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { AskedOrigin } from '../wire/origin-of.js';

const BUSY = 'Too many traces arrive at once: try again';

function taken({ erased, mended }: StoredRuns): StoredRunsAnswer {
  const except = erased === 0 ? '' : `, except ${erased} creates and updates of deleted traces`;
  return { message: `Runs were stored${except}`, ...(mended.length > 0 ? { mended } : {}) };
}

/** Runs of traces, on the wire of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller(['runs', 'api/v1/runs'])
export class RunsController {
  constructor(
    private readonly ingestion: TraceIngestion,
    private readonly traces: Traces,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
  ) {}

  @Post('multipart')
  @HttpCode(202)
  @RouteConfig({ rawBody: true })
  @Described(({ ApiConsumes }) => ApiConsumes('multipart/form-data'))
  @Operation({
    summary: 'Stores runs and updates of runs, each in parts of its own',
    status: 202,
    answer: StoredPartsAnswer,
    body: RunMultipartRequest,
    refuses: { 400: 'The body is not multipart', 429: BUSY },
  })
  async multipart(
    @FromCaller() caller: Caller,
    @Headers('content-type') contentType: string,
    @FromBody('multipart') sent: SentBody,
  ): Promise<StoredPartsAnswer> {
    const stored = await this.ingestion.multipart(caller, contentType, sent);
    const { notKept } = stored;
    const answer = taken(stored);
    if (notKept.attachments === 0) return answer;
    const message = `${answer.message}; some attachments were not kept`;
    return { ...answer, message, not_kept: notKept };
  }

  @Post('batch')
  @HttpCode(202)
  @RouteConfig({ rawBody: true })
  @Operation({
    summary: 'Stores runs and updates of runs; an update may come before its run',
    status: 202,
    answer: StoredRunsAnswer,
    body: RunBatchRequest,
    refuses: { 400: 'There is no JSON body', 429: BUSY },
  })
  async batch(@FromCaller() caller: Caller, @FromBody('JSON') sent: SentBody): Promise<object> {
    return taken(await this.ingestion.batch(caller, sent));
  }

  @Post('delete')
  @HttpCode(200)
  @Operation({
    summary: 'Deletes traces with all their runs; what arrives of them later is not stored',
    answer: ErasedAnswer,
    refuses: { 400: 'The body names neither traces nor threads' },
  })
  async delete(@FromCaller() caller: Caller, @Body() body: ErasureRequest): Promise<ErasedAnswer> {
    return { deleted_runs: await this.traces.erase(caller, body) };
  }

  @Post()
  @HttpCode(202)
  @RouteConfig({ rawBody: true })
  @Operation({
    summary: 'Stores a run; without an id it gets one, named in the answer',
    status: 202,
    answer: StoredRunsAnswer,
    body: RunRequest,
    refuses: { 400: 'There is no JSON body', 429: BUSY },
  })
  async create(@FromCaller() caller: Caller, @FromBody('JSON') sent: SentBody): Promise<object> {
    return taken(await this.ingestion.single(caller, 'post', sent));
  }

  @Patch(':run_id')
  @HttpCode(202)
  @RouteConfig({ rawBody: true })
  @Operation({
    summary: 'Stores an update of a run; it may come before its run',
    status: 202,
    answer: StoredRunsAnswer,
    body: RunUpdateRequest,
    refuses: { 400: 'There is no JSON body', 429: BUSY },
  })
  async update(
    @FromCaller() caller: Caller,
    @PathId('run_id') runId: string,
    @FromBody('JSON') sent: SentBody,
  ): Promise<object> {
    return taken(await this.ingestion.single(caller, 'patch', sent, runId));
  }

  @Get(':run_id')
  @RouteConfig({ countsAnswer: true })
  @Header('content-type', 'application/json; charset=utf-8')
  @Operation({ summary: 'A run with its payloads', answer: RunAnswer })
  async get(
    @FromCaller() caller: Caller,
    @PathId('run_id') runId: string,
    @Query() query: RunQuery,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { session_id: projectId, exclude_serialized: isShort } = query;
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const stored = await this.traces.getRun(caller, runId, projectId, hold);
      const fields = isShort === true ? SHORT_FIELDS : RUN_FIELDS;
      const [run = stored] = await withAttachments(this.urls, { caller, origin, hold }, [stored], fields);
      return renderRun(run, fields);
    });
  }
}
