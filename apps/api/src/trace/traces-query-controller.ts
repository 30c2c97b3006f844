import { Body, Controller, Get, Header, HttpCode, Inject, Post, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { type Clock, formatInstant, parseInstant } from '#lib/time';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { AskedOrigin, originOf } from '../wire/origin-of.js';
import { PathId } from '../wire/path-id.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { withAttachments } from './attached-runs.js';
import { runPagePath } from './page-path.js';
import { type ReadRun, renderRun, RUN_FIELDS, type RunFields, selectFields } from './render-run.js';
import { renderCursor } from './run-cursor.js';
import { fieldsOfSelects } from './run-fields-v2.js';
import { RunSearches } from './run-searches.js';
import { RunUrlAnswer, TracesPageAnswer } from './traces-query-answer.js';
import { RunUrlQuery, TracesQueryRequest } from './traces-query-request.js';

const PAGE = 100;
const DAY_MS = 86_400_000;
const TOTALS: readonly string[] = ['TOTAL_TOKENS', 'TOTAL_COST', 'FIRST_TOKEN_TIME'];

/** Traces as wholes, and the addresses of their pages, on the wire of the newer clients. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller('api/v2')
export class TracesQueryController {
  constructor(
    private readonly searches: RunSearches,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
    @Inject(API_CONFIG) private readonly config: Pick<ApiConfig, 'publicUrl'>,
  ) {}

  @Post('traces/query')
  @HttpCode(200)
  @Header('content-type', 'application/json; charset=utf-8')
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'A page of the traces of a project, the one that began last first',
    answer: TracesPageAnswer,
    refuses: { 400: 'A filter or a cursor is no such thing, or finding the traces takes too long' },
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
      const { runs: found, next } = await this.searches.page(caller, this.#asked(body, fields), hold);
      const runs = await withAttachments(this.urls, { caller, origin, hold }, found, fields);
      const items: Buffer[] = [];
      for (const run of runs)
        items.push(Buffer.from(items.length === 0 ? '' : ','), await renderTrace(run, ofRoot, ofTrace));
      const cursor = JSON.stringify(next ? renderCursor(next) : null);
      return Buffer.concat([Buffer.from('{"items":['), ...items, Buffer.from(`],"next_cursor":${cursor}}`)]);
    });
  }

  @Get('runs/:run_id/url')
  @Operation({ summary: 'The address of the page of a run', answer: RunUrlAnswer })
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
