import { Type } from 'class-transformer';
import { Uuid, Whole } from '../wire/fields.js';
import { Answered, listOf, orNull, TEXT, TIME, UUID, WHOLE, words } from '../wire/shape.js';

const KIND = words(['refused', 'mended', 'dropped']);
const ABOUT_KIND =
  'refused: the run was not stored; mended: a member of it was changed; dropped: a member or part was left out';

/** Query of `GET /ingest-problems`. */
export class IngestProblemsQuery {
  @Uuid({
    about: 'Of one tracing project; absent: of the workspace, also of runs that name no project that exists',
  })
  session_id?: string;

  @Whole({ min: 1, max: 100, fallback: 100, about: 'Most problems to answer' })
  @Type(() => Number)
  limit: number = 100;
}

export class IngestProblemCountAnswer {
  @Answered(KIND, ABOUT_KIND) readonly kind: string;
  @Answered(TEXT, 'Stable word for the kind of mistake') readonly type: string;
  @Answered(WHOLE) readonly count: number;
  @Answered(TIME) readonly first_seen_at: string;
  @Answered(TIME) readonly last_seen_at: string;
}

export class IngestProblemAnswer {
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
export class IngestProblemsAnswer {
  @Answered(listOf(() => IngestProblemCountAnswer), 'Everything since the first')
  readonly counts: readonly IngestProblemCountAnswer[];
  @Answered(listOf(() => IngestProblemAnswer), 'Newest first; the newest 100 of each project are kept')
  readonly recent: readonly IngestProblemAnswer[];
}
