import { Body, Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import type { Clock } from '#lib/time';
import { CLOCK } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import { allRuns, lookedTo, renderCursor, rendered, renderedWithin, withAttachments } from './all-runs.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { type RunFields } from './render-run.js';
import { fieldsOfSelects, RunV2Answer, selectedFields } from './run-fields.js';
import { type AskedRuns, RunSearches } from './run-searches.js';
import { wantedBy } from './wanted-by.js';
import {
  RunsPageAnswer,
  RunsPageV2Answer,
  RunsQueryRequest,
  RunsQueryV2Request,
  RunV2Query,
  TraceRunsAnswer,
  TraceRunsQuery,
} from './runs-query.js';
import { AskedOrigin } from '../wire/origin-of.js';
import { Post, Get } from '../wire/route.js';
import { READ_RUNS } from '../wire/route-access.js';

/** Runs of a page of the first wire, and of those in which a trace is read. */
const PAGE = 100;
const DAY_MS = 86_400_000;
const TOO_LONG = 'A filter or a cursor is no such thing, or finding the runs takes too long';

/** Lists of runs, on the wire of the `langsmith` clients that read by `/runs/query`. */
@Resource('Runs', ['runs', 'api/v1/runs'])
export class RunsQueryController {
  constructor(
    private readonly searches: RunSearches,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
  ) {}

  @Post('query', READ_RUNS, {
    summary: 'A page of runs',
    answer: RunsPageAnswer,
    refuses: { 400: TOO_LONG },
    sends: 'counted json',
  })
  async query(
    @FromCaller() caller: Caller,
    @Body() body: RunsQueryRequest,
    @Res() reply: FastifyReply,
    @AskedOrigin() origin: string,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const fields = selectedFields(body.select);
      const page = await this.searches.page(caller, askedBy(body, fields), hold);
      const { runs: found, next } = page;
      const runs = await withAttachments(this.urls, { caller, origin, hold }, found, fields);
      const cursors = { next: next ? renderCursor(next) : null, prev: null };
      const rest = JSON.stringify({ cursors, search_cursors: null, parsed_query: null, ...lookedTo(page) });
      return renderedWithin('{"runs":[', [runs, fields], `],${rest.slice(1)}`);
    });
  }
}

function askedBy(body: RunsQueryRequest, fields: RunFields): AskedRuns {
  return {
    ...wantedBy(body),
    fields,
    cursor: body.cursor,
    isAscending: body.order === 'asc',
    limit: Math.min(body.limit ?? PAGE, PAGE),
  };
}

/** Lists of runs, on the wire of the newer clients. */
@Resource('Runs', 'api/v2')
export class SelectedRunsController {
  constructor(
    private readonly searches: RunSearches,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post('runs/query', READ_RUNS, {
    summary: 'A page of runs',
    answer: RunsPageV2Answer,
    refuses: { 400: TOO_LONG },
    sends: 'counted json',
  })
  async query(
    @FromCaller() caller: Caller,
    @Body() body: RunsQueryV2Request,
    @Res() reply: FastifyReply,
    @AskedOrigin() origin: string,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const fields = fieldsOfSelects(body.selects);
      const page = await this.searches.page(caller, this.#askedBy(body, fields), hold);
      const { runs: found, next } = page;
      const runs = await withAttachments(this.urls, { caller, origin, hold }, found, fields);
      const cursors = { has_more: next !== undefined, next_cursor: next ? renderCursor(next) : null };
      const rest = { ...cursors, ...lookedTo(page) };
      return renderedWithin('{"items":[', [runs, fields], `],${JSON.stringify(rest).slice(1)}`);
    });
  }

  @Get('runs/:run_id', READ_RUNS, { summary: 'A run', answer: RunV2Answer, sends: 'counted json' })
  async get(
    @FromCaller() caller: Caller,
    @PathId('run_id') id: string,
    @Query() { project_id: projectId, start_time: startTime, selects }: RunV2Query,
    @Res() reply: FastifyReply,
    @AskedOrigin() origin: string,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const fields = fieldsOfSelects(selects);
      const found = await this.searches.one(caller, { id, projectId, fields, startTime }, hold);
      return rendered(await withAttachments(this.urls, { caller, origin, hold }, [found], fields), fields);
    });
  }

  @Get('traces/:trace_id/runs', READ_RUNS, {
    summary: 'All runs of a trace',
    answer: TraceRunsAnswer,
    refuses: { 400: TOO_LONG },
    sends: 'counted json',
  })
  async runsOfTrace(
    @FromCaller() caller: Caller,
    @PathId('trace_id') traceId: string,
    @Query() query: TraceRunsQuery,
    @Res() reply: FastifyReply,
    @AskedOrigin() origin: string,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const asked: AskedRuns = {
        projectIds: [query.project_id],
        traceId,
        fields: fieldsOfSelects(query.selects),
        from: query.min_start_time,
        to: query.max_start_time,
        isAscending: true,
        limit: PAGE,
        filters: { filter: query.filter },
      };
      const reader = { caller, origin, hold: account.hold };
      const page = (cursor?: string) => this.searches.page(caller, { ...asked, cursor }, account.hold);
      return allRuns(page, account, asked.fields, (runs) =>
        withAttachments(this.urls, reader, runs, asked.fields),
      );
    });
  }

  #askedBy(body: RunsQueryV2Request, fields: RunFields): AskedRuns {
    const isNamed = (body.ids?.length ?? 0) > 0 || !!body.trace_id;
    const dayAgo = new Date(this.clock.now().getTime() - DAY_MS).toISOString();
    return {
      projectIds: body.project_ids?.length ? body.project_ids : undefined,
      ids: body.ids ?? undefined,
      traceId: body.trace_id ?? undefined,
      referenceExampleIds: body.reference_examples ?? undefined,
      runType: body.run_type?.toLowerCase(),
      hasError: body.has_error ?? undefined,
      isRoot: body.is_root ?? undefined,
      from: body.min_start_time ?? (isNamed ? undefined : dayAgo),
      to: body.max_start_time,
      fields,
      cursor: body.cursor,
      isAscending: body.sort_order === 'ASC',
      limit: Math.min(body.page_size ?? PAGE, PAGE),
      filters: {
        filter: body.filter,
        trace_filter: body.trace_filter,
        tree_filter: body.tree_filter,
      },
    };
  }
}
