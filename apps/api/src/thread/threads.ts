import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { type Clock, formatInstant, parseInstant } from '#lib/time';
import { isUuid } from '#lib/resources';
import type { Thread, ThreadCursor, TraceStore } from '#lib/trace-store';
import type { RunSearches } from '../trace/run-searches.js';
import type { RunGroupsRequest, ThreadsQueryRequest, ThreadStatsQuery } from './thread.js';

type ThreadPage = Awaited<ReturnType<TraceStore['threads']['list']>>;

const PAGE = 100;
const DAY_MS = 86_400_000;

/** Finds threads for a caller, in the projects that its key reaches. */
export class Threads {
  constructor(
    private readonly store: Pick<TraceStore, 'threads'>,
    private readonly searches: Pick<RunSearches, 'searchOf'>,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** @throws PublicError not_found (a project), bad_request */
  async groups(caller: Caller, body: RunGroupsRequest): Promise<ThreadPage> {
    const asked = { projectIds: [body.session_id], from: body.start_time, to: body.end_time };
    const search = await this.searches.searchOf(caller, { ...asked, filters: { filter: body.filter } });
    const page = { limit: Math.min(body.limit ?? PAGE, PAGE), offset: body.offset ?? 0, isCounted: true };
    return this.store.threads.list(
      caller.tenantId,
      { ...search, projectId: body.session_id.toLowerCase() },
      page,
    );
  }

  /** @throws PublicError not_found (a project), bad_request */
  async page(caller: Caller, body: ThreadsQueryRequest): Promise<ThreadPage> {
    const dayAgo = new Date(this.clock.now().getTime() - DAY_MS).toISOString();
    const search = await this.searches.searchOf(caller, {
      projectIds: [body.project_id],
      from: body.min_start_time ?? dayAgo,
      filters: { filter: body.filter, trace_filter: body.trace_filter, tree_filter: body.tree_filter },
    });
    const end = body.max_start_time ? parseInstant(body.max_start_time, { zone: 'optional' }) : undefined;
    const after = body.cursor ? parseThreadCursor(body.cursor) : undefined;
    return this.store.threads.list(
      caller.tenantId,
      { ...search, projectId: body.project_id.toLowerCase(), to: end === undefined ? undefined : end - 1n },
      { limit: Math.min(body.page_size ?? PAGE, PAGE), after },
    );
  }

  /** One thread, as far as its traces meet the filter. @throws PublicError not_found, bad_request */
  async one(caller: Caller, threadId: string, query: ThreadStatsQuery): Promise<Thread> {
    const asked = { projectIds: [query.session_id], filters: { filter: query.filter } };
    const search = await this.searches.searchOf(caller, asked);
    const wanted = { ...search, projectId: query.session_id.toLowerCase(), threadId };
    const [found] = (await this.store.threads.list(caller.tenantId, wanted, { limit: 1 })).threads;
    if (!found) throw new PublicError('not_found', `Thread ${threadId} not found`);
    return found;
  }
}

export function renderThreadCursor({ lastStartTime, rootId, traceId }: ThreadCursor): string {
  return Buffer.from(`${formatInstant(lastStartTime)} ${rootId} ${traceId}`).toString('base64url');
}

/** @throws PublicError bad_request */
function parseThreadCursor(text: string): ThreadCursor {
  const [time = '', rootId = '', traceId = ''] = Buffer.from(text, 'base64url').toString().split(' ');
  const lastStartTime = parseInstant(time, { zone: 'required' });
  if (lastStartTime === undefined || !isUuid(rootId) || !isUuid(traceId))
    throw new PublicError('bad_request', 'cursor is none that a page of this list has answered');
  return { lastStartTime, rootId, traceId };
}
