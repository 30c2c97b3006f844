import { Body, Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { type Clock, formatInstant, parseInstant } from '#lib/time';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import type { ApiConfig } from '../config.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { API_CONFIG, CLOCK } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import { AskedOrigin, originOf } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { Post, Get } from '../wire/route.js';
import { READ_RUNS } from '../wire/route-access.js';
import { Answered, listOf, NUMBER, object, orNull, Perhaps, TEXT, TIME, WHOLE } from '../wire/shape.js';
import { lookedTo, renderCursor, withAttachments } from './all-runs.js';
import { runPagePath } from './page-path.js';
import { type ReadRun, renderRun, type RunFields } from './render-run.js';
import { fieldsOfSelects, RUN_FIELDS, RunV2Answer, selectFields, SELECTS } from './run-fields.js';
import { FilterText, LOOKED_TO } from './runs-query.js';
import { RunSearches } from './run-searches.js';

/** Sums of all runs of a trace, with the fields that `selects` names. */
class TraceTotalsAnswer {
  @Perhaps(WHOLE) readonly total_tokens?: number;
  @Perhaps(orNull(NUMBER)) readonly total_cost?: number | null;
  @Perhaps(orNull(TIME)) readonly first_token_time?: string | null;
}

const PAGE = 100;

class TraceAnswer {
  @Answered(object(() => RunV2Answer), 'Its root, with the fields that selects names')
  readonly root_run: RunV2Answer;
  @Perhaps(object(() => TraceTotalsAnswer), 'Absent where selects names none of them')
  readonly trace_aggregates?: TraceTotalsAnswer;
}

class TracesPageAnswer {
  @Answered(listOf(() => TraceAnswer), 'The one that began last comes first')
  readonly items: readonly TraceAnswer[];
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next_cursor:
    string | null;
  @Perhaps(TIME, LOOKED_TO) readonly looked_to?: string;
}

class RunUrlAnswer {
  @Answered(TEXT, 'Address of the page of the run, for people with a key') readonly url: string;
}

const MOST_NAMED = 1_000;

/** Body of `POST /api/v2/traces/query`. */
class TracesQueryRequest {
  @Uuid({ required: true, about: 'Tracing project' })
  project_id: string;

  @TextList({ maxSize: MOST_NAMED, maxLength: 36, about: 'Ids of traces' })
  trace_ids?: string[] | null;

  @Time({ about: 'Traces that began then or later; a day ago when absent and no traces are named' })
  min_start_time?: string | null;

  @Time({ about: 'Traces that began before' })
  max_start_time?: string | null;

  @FilterText('Condition on the roots of the traces')
  trace_filter?: string | null;

  @FilterText('Condition that some run of a trace holds')
  tree_filter?: string | null;

  @TextList({
    maxSize: SELECTS.size,
    choices: [...SELECTS.keys()],
    about: 'Fields to answer; ID alone when absent',
  })
  selects?: string[] | null;

  @Text({ maxLength: 200, about: 'next_cursor of the page before' })
  cursor?: string | null;

  @Whole({ min: 1, max: 1_000, fallback: PAGE, about: `Most traces of a page, which has at most ${PAGE}` })
  page_size?: number | null;
}

/** Query of `GET /api/v2/runs/{run_id}/url`. */
class RunUrlQuery {
  @Uuid({ required: true, about: 'Tracing project of the run' })
  project_id: string;

  @Uuid({ required: true, about: 'Taken and without effect: a run is found by its id' })
  trace_id: string;

  @Time({ about: 'Taken and without effect' })
  start_time?: string;
}

const DAY_MS = 86_400_000;
const TOTALS: readonly string[] = ['TOTAL_TOKENS', 'TOTAL_COST', 'FIRST_TOKEN_TIME'];

/** Traces as wholes, and the addresses of their pages, on the wire of the newer clients. */
@Resource('Runs', 'api/v2')
export class TracesQueryController {
  constructor(
    private readonly searches: RunSearches,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
    @Inject(API_CONFIG) private readonly config: Pick<ApiConfig, 'publicUrl'>,
  ) {}

  @Post('traces/query', READ_RUNS, {
    summary: 'A page of the traces of a project, the one that began last first',
    answer: TracesPageAnswer,
    refuses: { 400: 'A filter or a cursor is no such thing, or finding the traces takes too long' },
    sends: 'counted json',
  })
  async query(
    @FromCaller() caller: Caller,
    @Body() body: TracesQueryRequest,
    @Res() reply: FastifyReply,
    @AskedOrigin() origin: string,
  ): Promise<void> {
    const ofRoot = fieldsOfSelects(body.selects?.filter((select) => !TOTALS.includes(select)));
    const sums = TOTALS.filter((select) => body.selects?.includes(select));
    const ofTrace = sums.length > 0 ? fieldsOfSelects(sums) : undefined;
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const fields: RunFields = new Map([...ofRoot, ...(ofTrace ?? [])]);
      const page = await this.searches.page(caller, this.#asked(body, fields), hold);
      const { runs: found, next } = page;
      const runs = await withAttachments(this.urls, { caller, origin, hold }, found, fields);
      const items: Buffer[] = [];
      for (const run of runs)
        items.push(Buffer.from(items.length === 0 ? '' : ','), await renderTrace(run, ofRoot, ofTrace));
      const rest = JSON.stringify({ next_cursor: next ? renderCursor(next) : null, ...lookedTo(page) });
      return Buffer.concat([Buffer.from('{"items":['), ...items, Buffer.from(`],${rest.slice(1)}`)]);
    });
  }

  @Get('runs/:run_id/url', READ_RUNS, { summary: 'The address of the page of a run', answer: RunUrlAnswer })
  async url(
    @FromCaller() caller: Caller,
    @PathId('run_id') id: string,
    @Query() { project_id: projectId }: RunUrlQuery,
    @AskedOrigin() origin: string,
  ): Promise<RunUrlAnswer> {
    const fields = selectFields(RUN_FIELDS, ['id']);
    const { row } = await this.searches.one(caller, { id, projectId, fields }, () => undefined);
    return { url: `${originOf(this.config.publicUrl, origin)}${runPagePath(row)}` };
  }

  #asked(body: TracesQueryRequest, fields: RunFields) {
    const dayAgo = new Date(this.clock.now().getTime() - DAY_MS).toISOString();
    const isNamed = (body.trace_ids?.length ?? 0) > 0;
    const end = body.max_start_time ? parseInstant(body.max_start_time, { zone: 'optional' }) : undefined;
    return {
      projectIds: [body.project_id],
      isRoot: true,
      fields,
      cursor: body.cursor,
      isAscending: false,
      ids: isNamed ? (body.trace_ids ?? undefined) : undefined,
      mayNameTraces: isNamed,
      from: body.min_start_time ?? (isNamed ? undefined : dayAgo),
      to: end === undefined ? undefined : formatInstant(end - 1n),
      limit: Math.min(body.page_size ?? PAGE, PAGE),
      filters: { filter: body.trace_filter, tree_filter: body.tree_filter },
    };
  }
}

async function renderTrace(run: ReadRun, ofRoot: RunFields, ofTrace: RunFields | undefined): Promise<Buffer> {
  const totals = ofTrace ? [Buffer.from(',"trace_aggregates":'), await renderRun(run, ofTrace)] : [];
  const root = await renderRun(run, ofRoot);
  return Buffer.concat([Buffer.from('{"root_run":'), root, ...totals, Buffer.from('}')]);
}
