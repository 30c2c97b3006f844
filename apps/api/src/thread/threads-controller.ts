import { Body, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { lookedTo, renderCursor, renderedWithin } from '../trace/all-runs.js';
import { RunSearches } from '../trace/run-searches.js';
import { Resource } from '../wire/operation.js';
import { Post, Get } from '../wire/route.js';
import { READ_RUNS } from '../wire/route-access.js';
import {
  renderGroup,
  renderThread,
  renderThreadTotals,
  RunGroupsAnswer,
  RunGroupsRequest,
  ThreadsPageAnswer,
  ThreadsQueryRequest,
  ThreadStatsAnswer,
  ThreadStatsQuery,
  ThreadTracesAnswer,
  ThreadTracesQuery,
  traceFields,
} from './thread.js';
import { Threads, renderThreadCursor } from './threads.js';

const PAGE = 100;

/** Names are stored without U+0000. */
function storedThreadId(threadId: string): string {
  return threadId.replaceAll('\0', '\uFFFD');
}
const TOO_LONG = 'A filter or a cursor is no such thing, or finding the threads takes too long';

/** Threads on the wire of the `langsmith` clients that group runs. */
@Resource('Threads', ['runs', 'api/v1/runs'])
export class RunGroupsController {
  constructor(private readonly threads: Threads) {}

  @Post('group', READ_RUNS, {
    summary: 'Threads of a project, the one with the newest trace first',
    answer: RunGroupsAnswer,
    refuses: { 400: TOO_LONG },
  })
  async group(@FromCaller() caller: Caller, @Body() body: RunGroupsRequest): Promise<RunGroupsAnswer> {
    const { threads, total } = await this.threads.groups(caller, body);
    return { groups: threads.map(renderGroup), total: total ?? 0 };
  }
}

/** Threads on the wire of the newer clients. */
@Resource('Threads', 'api/v2/threads')
export class ThreadsController {
  constructor(
    private readonly threads: Threads,
    private readonly searches: RunSearches,
    private readonly answers: AnswerBudget,
  ) {}

  @Post('query', READ_RUNS, {
    summary: 'A page of the threads of a project, the one with the newest trace first',
    answer: ThreadsPageAnswer,
    refuses: { 400: TOO_LONG },
  })
  async query(@FromCaller() caller: Caller, @Body() body: ThreadsQueryRequest): Promise<ThreadsPageAnswer> {
    const { threads, next } = await this.threads.page(caller, body);
    return { items: threads.map(renderThread), next_cursor: next ? renderThreadCursor(next) : null };
  }

  @Get(':thread_id/stats', READ_RUNS, {
    summary: 'What the traces of a thread add up to',
    answer: ThreadStatsAnswer,
    refuses: { 400: TOO_LONG },
  })
  async stats(
    @FromCaller() caller: Caller,
    @Param('thread_id') threadId: string,
    @Query() query: ThreadStatsQuery,
  ): Promise<ThreadStatsAnswer> {
    const thread = await this.threads.one(caller, storedThreadId(threadId), query);
    return renderThreadTotals(thread, query.selects);
  }

  @Get(':thread_id/traces', READ_RUNS, {
    summary: 'A page of the traces of a thread, by start time',
    answer: ThreadTracesAnswer,
    refuses: { 400: TOO_LONG },
    sends: 'counted json',
  })
  async traces(
    @FromCaller() caller: Caller,
    @Param('thread_id') threadId: string,
    @Query() query: ThreadTracesQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const fields = traceFields(query.selects);
    const limit = Math.min(query.page_size ?? PAGE, PAGE);
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      const asked = {
        projectIds: [query.project_id],
        threadId: storedThreadId(threadId),
        isRoot: true,
      };
      const page = await this.searches.page(
        caller,
        {
          ...asked,
          fields,
          isAscending: true,
          limit,
          cursor: query.cursor,
          filters: {
            filter: query.filter,
            trace_filter: query.trace_filter,
            tree_filter: query.tree_filter,
          },
        },
        hold,
      );
      const { runs, next } = page;
      const rest = JSON.stringify({ next_cursor: next ? renderCursor(next) : null, ...lookedTo(page) });
      return renderedWithin('{"items":[', [runs, fields], `],${rest.slice(1)}`);
    });
  }
}
