import { Controller, Get, Inject, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { IngestProblemsAnswer, IngestProblemsQuery } from './ingest-problems-answer.js';

/** Data of traces that clients sent and that was not stored as it came. */
@Described(({ ApiTags }) => ApiTags('Runs'))
@Controller(['ingest-problems', 'api/v1/ingest-problems'])
export class IngestProblemsController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'ingestProblems'>) {}

  @Get()
  @Operation({
    summary: 'Runs that were refused, and members of runs that were mended or dropped: counts and the newest',
    answer: IngestProblemsAnswer,
  })
  async list(
    @FromCaller() { tenantId }: Caller,
    @Query() { session_id: projectId, limit }: IngestProblemsQuery,
  ): Promise<IngestProblemsAnswer> {
    const options = { limit, ...(projectId === undefined ? {} : { projectId }) };
    const { counts, recent } = await this.store.ingestProblems.list(tenantId, options);
    return {
      counts: counts.map(({ kind, type, count, firstSeenAt, lastSeenAt }) => ({
        kind,
        type,
        count,
        first_seen_at: firstSeenAt.toISOString(),
        last_seen_at: lastSeenAt.toISOString(),
      })),
      recent: recent.map(({ kind, type, projectId: sessionId, runId, member, message, seenAt }) => ({
        kind,
        type,
        message,
        session_id: sessionId ?? null,
        run_id: runId ?? null,
        member: member ?? null,
        seen_at: seenAt.toISOString(),
      })),
    };
  }
}
