import { Body, Headers, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described, Resource } from '../wire/operation.js';
import { Time, Uuid } from '../wire/fields.js';
import { AskedOrigin } from '../wire/origin-of.js';
import { PathId, QueryFlag } from '../wire/query-flag.js';
import { Post, Patch, Get } from '../wire/route.js';
import { DEPLOYMENT, READ_RUNS, WRITE_RUNS } from '../wire/route-access.js';
import {
  Answered,
  JSON_VALUE,
  listOf,
  NUMBER,
  orNull,
  Perhaps,
  type Shape,
  TEXT,
  textList,
  UUID,
} from '../wire/shape.js';
import { withAttachments } from './all-runs.js';
import { ErasureRequest } from './erasure-request.js';
import { FromBody, type SentBody } from './held-body.js';
import { renderRun } from './render-run.js';
import { RUN_FIELDS, RunAnswer, SHORT_FIELDS } from './run-fields.js';
import { ErasedAnswer, StoredPartsAnswer, StoredRunsAnswer } from './run-answer.js';
import { type StoredRuns, TraceIngestion } from './trace-ingestion.js';
import { Traces } from './traces.js';

/** ISO 8601, or milliseconds since 1970. */
const MOMENT: Shape = {
  anyOf: [{ type: 'string', format: 'date-time', nullable: true }, { type: 'number' }],
};
/** A decimal, as a number or as text. */
const COST: Shape = { anyOf: [{ type: 'string', nullable: true }, { type: 'number' }] };

/**
 * Bodies of the trace routes. They are read byte by byte by the trace store, which knows the rules between fields;
 * these classes only describe them. Members that are not listed are left out and named in the answer.
 */
class RunUpdateRequest {
  @Perhaps(orNull(UUID)) readonly id?: string | null;
  @Perhaps(orNull(UUID)) readonly trace_id?: string | null;
  @Perhaps(orNull(UUID)) readonly parent_run_id?: string | null;
  @Perhaps(orNull(TEXT), 'TIMEZID segments, root first; must agree with the ids') readonly dotted_order?:
    string | null;
  @Perhaps(orNull(UUID), 'Id of the tracing project') readonly session_id?: string | null;
  @Perhaps(orNull(TEXT), 'Name of the tracing project, made when it is not there') readonly session_name?:
    string | null;
  @Perhaps(MOMENT) readonly start_time?: string | number | null;
  @Perhaps(MOMENT) readonly end_time?: string | number | null;
  @Perhaps(orNull(TEXT)) readonly name?: string | null;
  @Perhaps(orNull(TEXT), 'For example chain, llm, tool') readonly run_type?: string | null;
  @Perhaps(orNull(TEXT), 'Follows from end_time and error when it is another word') readonly status?:
    string | null;
  @Perhaps(orNull(textList())) readonly tags?: readonly string[] | null;
  @Perhaps(orNull(UUID)) readonly reference_example_id?: string | null;
  @Perhaps(orNull(TEXT)) readonly trace_tier?: string | null;
  @Perhaps(orNull(NUMBER)) readonly total_tokens?: number | null;
  @Perhaps(orNull(NUMBER)) readonly prompt_tokens?: number | null;
  @Perhaps(orNull(NUMBER)) readonly completion_tokens?: number | null;
  @Perhaps(COST) readonly total_cost?: string | number | null;
  @Perhaps(COST) readonly prompt_cost?: string | number | null;
  @Perhaps(COST) readonly completion_cost?: string | number | null;
  @Perhaps(JSON_VALUE) readonly inputs?: unknown;
  @Perhaps(JSON_VALUE) readonly outputs?: unknown;
  @Perhaps(JSON_VALUE) readonly extra?: unknown;
  @Perhaps(JSON_VALUE) readonly events?: unknown;
  @Perhaps(JSON_VALUE) readonly error?: unknown;
  @Perhaps(JSON_VALUE) readonly serialized?: unknown;
}

class RunRequest extends RunUpdateRequest {
  @Perhaps(orNull(UUID), 'Required in a batch') declare readonly id?: string | null;
  @Answered(TEXT) declare readonly name: string;
  @Answered(TEXT, 'For example chain, llm, tool') declare readonly run_type: string;
}

class AddressedRunUpdateRequest extends RunUpdateRequest {
  @Answered(UUID) declare readonly id: string;
}

class RunBatchRequest {
  @Perhaps(orNull(listOf(() => RunRequest))) readonly post?: readonly RunRequest[] | null;
  @Perhaps(orNull(listOf(() => AddressedRunUpdateRequest))) readonly patch?:
    readonly AddressedRunUpdateRequest[] | null;
}

/** Parts are named `post.ID` or `patch.ID` (the run's object) and `post.ID.FIELD` (one of its payloads). */
class RunMultipartRequest {
  @Perhaps(JSON_VALUE, 'A run; ID in the name is its id') readonly 'post.ID'?: unknown;
  @Perhaps(JSON_VALUE, 'An update of a run') readonly 'patch.ID'?: unknown;
  @Perhaps(JSON_VALUE, 'inputs, outputs, extra, events, error or serialized of a run')
  readonly 'post.ID.FIELD'?: unknown;
  @Perhaps(JSON_VALUE, 'The same of an update') readonly 'patch.ID.FIELD'?: unknown;
}

/** Query of `GET /runs/{id}`: hints of newer clients that help the server find the run. */
class RunQuery {
  @Uuid({ about: 'Tracing project that the run must belong to' })
  session_id?: string;

  @Time({ about: 'Of the run; taken and without effect: runs are found by their id' })
  start_time?: string;

  @QueryFlag({ about: 'Leaves out serialized' })
  exclude_serialized?: boolean;

  @QueryFlag({ about: 'Adds usage_source: where the tokens and costs come from' })
  explain_usage?: boolean;

  @QueryFlag({ about: 'Taken and without effect: payloads are always in the answer' })
  exclude_s3_stored_attributes?: boolean;

  @QueryFlag({ about: 'Taken and without effect: messages are a part of the payloads' })
  include_messages?: boolean;
}

const BUSY = 'Too many traces arrive at once: try again';

function taken({ erased, mended }: StoredRuns): StoredRunsAnswer {
  const except = erased === 0 ? '' : `, except ${erased} creates and updates of deleted traces`;
  return { message: `Runs were stored${except}`, ...(mended.length > 0 ? { mended } : {}) };
}

/** Runs of traces, on the wire of the `langsmith` clients. */
@Resource('Runs', ['runs', 'api/v1/runs'])
export class RunsController {
  constructor(
    private readonly ingestion: TraceIngestion,
    private readonly traces: Traces,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
  ) {}

  @Post('multipart', WRITE_RUNS, {
    summary: 'Stores runs and updates of runs, each in parts of its own',
    status: 202,
    answer: StoredPartsAnswer,
    body: RunMultipartRequest,
    refuses: { 400: 'The body is not multipart', 429: BUSY },
    config: { rawBody: true },
  })
  @Described(({ ApiConsumes }) => ApiConsumes('multipart/form-data'))
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

  @Post('batch', WRITE_RUNS, {
    summary: 'Stores runs and updates of runs; an update may come before its run',
    status: 202,
    answer: StoredRunsAnswer,
    body: RunBatchRequest,
    refuses: { 400: 'There is no JSON body', 429: BUSY },
    config: { rawBody: true },
  })
  async batch(@FromCaller() caller: Caller, @FromBody('JSON') sent: SentBody): Promise<object> {
    return taken(await this.ingestion.batch(caller, sent));
  }

  @Post('delete', DEPLOYMENT, {
    summary: 'Deletes traces with all their runs; what arrives of them later is not stored',
    answer: ErasedAnswer,
    refuses: { 400: 'The body names neither traces nor threads' },
  })
  async delete(@FromCaller() caller: Caller, @Body() body: ErasureRequest): Promise<ErasedAnswer> {
    return { deleted_runs: await this.traces.erase(caller, body) };
  }

  @Post('', WRITE_RUNS, {
    summary: 'Stores a run; without an id it gets one, named in the answer',
    status: 202,
    answer: StoredRunsAnswer,
    body: RunRequest,
    refuses: { 400: 'There is no JSON body', 429: BUSY },
    config: { rawBody: true },
  })
  async create(@FromCaller() caller: Caller, @FromBody('JSON') sent: SentBody): Promise<object> {
    return taken(await this.ingestion.single(caller, 'post', sent));
  }

  @Patch(':run_id', WRITE_RUNS, {
    summary: 'Stores an update of a run; it may come before its run',
    status: 202,
    answer: StoredRunsAnswer,
    body: RunUpdateRequest,
    refuses: { 400: 'There is no JSON body', 429: BUSY },
    config: { rawBody: true },
  })
  async update(
    @FromCaller() caller: Caller,
    @PathId('run_id') runId: string,
    @FromBody('JSON') sent: SentBody,
  ): Promise<object> {
    return taken(await this.ingestion.single(caller, 'patch', sent, runId));
  }

  @Get(':run_id', READ_RUNS, {
    summary: 'A run with its payloads',
    answer: RunAnswer,
    sends: 'json',
    config: { countsAnswer: true },
  })
  async get(
    @FromCaller() caller: Caller,
    @PathId('run_id') runId: string,
    @Query() query: RunQuery,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { session_id: projectId, exclude_serialized: isShort, explain_usage: isExplained } = query;
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const stored = await this.traces.getRun(caller, runId, projectId, hold);
      const fields = isShort === true ? SHORT_FIELDS : RUN_FIELDS;
      const [run = stored] = await withAttachments(this.urls, { caller, origin, hold }, [stored], fields);
      const answer = await renderRun(run, fields);
      if (isExplained !== true) return answer;
      const source = JSON.stringify(await this.traces.usageSource(caller.tenantId, stored));
      return Buffer.concat([answer.subarray(0, -1), Buffer.from(`,"usage_source":${source}}`)]);
    });
  }
}
