import type { Caller } from '#lib/auth';
import type { TraceStore } from '#lib/trace-store';
import { Inject, Query } from '@nestjs/common';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { Uuid } from '../wire/fields.js';
import { QueryWhole } from '../wire/query-flag.js';
import { Get } from '../wire/route.js';
import { READ } from '../wire/route-access.js';
import { Answered, listOf, orNull, TEXT, TIME, UUID, WHOLE, words } from '../wire/shape.js';

const KIND = words(['refused', 'mended', 'dropped']);
const ABOUT_KIND =
  'refused: the run was not stored; mended: a member of it was changed; dropped: a member or part was left out';

/** Query of `GET /ingest-problems`. */
class IngestProblemsQuery {
  @Uuid({
    about: 'Of one tracing project; absent: of the workspace, also of runs that name no project that exists',
  })
  session_id?: string;

  @QueryWhole({ min: 1, max: 100, fallback: 100, about: 'Most problems to answer' })
  limit: number = 100;
}

class IngestProblemCountAnswer {
  @Answered(KIND, ABOUT_KIND) readonly kind: string;
  @Answered(TEXT, 'Stable word for the kind of mistake') readonly type: string;
  @Answered(WHOLE) readonly count: number;
  @Answered(TIME) readonly first_seen_at: string;
  @Answered(TIME) readonly last_seen_at: string;
}

class IngestProblemAnswer {
  @Answered(KIND, ABOUT_KIND) readonly kind: string;
  @Answered(TEXT, 'Stable word for the kind of mistake') readonly type: string;
  @Answered(orNull(UUID), 'Tracing project; null where none could be found') readonly session_id:
    string | null;
  @Answered(orNull(TEXT), 'As it was sent') readonly run_id: string | null;
  @Answered(orNull(TEXT), 'Member of the run, or name of the attachment') readonly member: string | null;
  @Answered(TEXT, 'What was wrong, for people') readonly message: string;
  @Answered(TIME) readonly seen_at: string;
}

/** Data that was not stored as it came. */
class IngestProblemsAnswer {
  @Answered(listOf(() => IngestProblemCountAnswer), 'Everything since the first')
  readonly counts: readonly IngestProblemCountAnswer[];
  @Answered(listOf(() => IngestProblemAnswer), 'Newest first; the newest 100 of each project are kept')
  readonly recent: readonly IngestProblemAnswer[];
}

/** Data of traces that clients sent and that was not stored as it came. */
@Resource('Runs', ['ingest-problems', 'api/v1/ingest-problems'])
export class IngestProblemsController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'ingestProblems'>) {}

  @Get('', READ, {
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
