import { parseJson } from '#lib/json';
import { type Queryable, textTypes } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';

/** Content of feedback on a run or a project: everything but its place. */
interface FeedbackContent {
  readonly key: string;
  readonly score: number | boolean | undefined;
  /** JSON text, like all of the following but the comment. */
  readonly value: string | undefined;
  readonly correction: string | undefined;
  readonly comment: string | undefined;
  /** `{"type": …, "metadata": …}`. */
  readonly source: string | undefined;
  readonly config: string | undefined;
  readonly extra: string | undefined;
  readonly isError: boolean | undefined;
  /** True when it makes the trace of its run longlived, which it does unless this is false. */
  readonly extendsRetention: boolean | undefined;
  readonly comparativeExperimentId: string | undefined;
  readonly feedbackGroupId: string | undefined;
}

/** Feedback that is to be stored. Ids are in lower case. */
export interface NewFeedback extends FeedbackContent {
  readonly id: string;
  /** Undefined for feedback of a project. */
  readonly runId: string | undefined;
  readonly traceId: string | undefined;
  /** Project of the run, or the one that the feedback is about; required without a run. */
  readonly projectId: string | undefined;
  readonly startTime: Instant | undefined;
  /** Undefined: now. */
  readonly createdAt: Instant | undefined;
  /** Feedback with its id stays as it is: its sender may give feedback, and change none. */
  readonly replacesNone?: boolean;
  /** Place of the feedback in the caller's request: the prefix of `loc` in its problems. */
  readonly place: readonly (string | number)[];
}

export interface StoredFeedback extends FeedbackContent {
  readonly id: string;
  readonly runId: string | undefined;
  /** Trace of the run; until the run has arrived, the trace that the sender named. */
  readonly traceId: string | undefined;
  readonly projectId: string | undefined;
  readonly startTime: Instant | undefined;
  readonly createdAt: Instant;
  readonly modifiedAt: Instant;
}

/** Members that may change later. Undefined leaves a member as it is, null removes it. */
export interface FeedbackChange {
  readonly score?: number | boolean | null | undefined;
  readonly value?: string | null | undefined;
  readonly correction?: string | null | undefined;
  readonly comment?: string | null | undefined;
  readonly config?: string | null | undefined;
}

/** Conditions on feedback; all that are given must hold. */
export interface FeedbackSearch {
  readonly runIds?: readonly string[] | undefined;
  readonly projectIds?: readonly string[] | undefined;
  readonly keys?: readonly string[] | undefined;
  readonly sources?: readonly string[] | undefined;
  readonly comparativeExperimentId?: string | undefined;
  readonly hasComment?: boolean | undefined;
  readonly hasScore?: boolean | undefined;
  /** Subject of the feedback: runs or projects. */
  readonly level?: 'run' | 'session' | undefined;
  readonly createdFrom?: Instant | undefined;
  readonly createdTo?: Instant | undefined;
}

/** The one project that a sender may write into. */
export interface OwnedProject {
  readonly id: string;
  readonly name: string;
}

/** Limits of a tenant's feedback. Statistics of a run read all of its feedback. */
export const FEEDBACK_LIMITS = Object.freeze({
  /** Feedback of a run, and of a project itself. */
  ofOne: 1_000,
  /** Feedback of a tenant for runs that have not arrived. */
  waiting: 10_000,
  /** Usable tokens of a run. */
  tokens: 100,
  /** Usable tokens of a tenant for runs that have not arrived. */
  tokensWaiting: 10_000,
  /** Configurations of a tenant. */
  configs: 1_000,
  /** Maximum score: beyond it a sum of squares could overflow. */
  score: 1e15,
});

/** Time that feedback waits for its run; the same as for updates. */
export const LONGEST_FEEDBACK_WAIT = '1 day';

/** Columns that `readFeedback` needs of the table `feedback`, called `f`. */
export const FEEDBACK_COLUMNS = `f.id, f.run_id, coalesce(f.trace_id, f.named_trace_id) AS trace_id,
  coalesce(f.project_id, f.named_project_id) AS project_id, coalesce(f.start_time, f.named_start_time) AS start_time,
  f.key, f.score, f.is_flag, f.value_json, f.correction, f.comment, f.source_json, f.config, f.extra, f.is_error,
  f.extends_retention, f.comparative_experiment_id, f.feedback_group_id, f.created_at, f.modified_at`;

/** Every value as its text. */
type TextRow = Readonly<Record<string, string | null>>;

function instant(text: string | null | undefined): Instant | undefined {
  return text === null || text === undefined ? undefined : parseInstant(text, { zone: 'optional' });
}

function flag(text: string | null | undefined): boolean | undefined {
  return text === null || text === undefined ? undefined : text === 't';
}

function scoreOf({ score, is_flag: isFlag }: TextRow): number | boolean | undefined {
  if (score === null || score === undefined) return undefined;
  return isFlag === 't' ? Number(score) !== 0 : Number(score);
}

function parse(row: TextRow): StoredFeedback {
  return {
    id: row['id'] ?? '',
    runId: row['run_id'] ?? undefined,
    traceId: row['trace_id'] ?? undefined,
    projectId: row['project_id'] ?? undefined,
    startTime: instant(row['start_time']),
    key: row['key'] ?? '',
    score: scoreOf(row),
    value: row['value_json'] ?? undefined,
    correction: row['correction'] ?? undefined,
    comment: row['comment'] ?? undefined,
    source: row['source_json'] ?? undefined,
    config: row['config'] ?? undefined,
    extra: row['extra'] ?? undefined,
    isError: flag(row['is_error']),
    extendsRetention: flag(row['extends_retention']),
    comparativeExperimentId: row['comparative_experiment_id'] ?? undefined,
    feedbackGroupId: row['feedback_group_id'] ?? undefined,
    createdAt: instant(row['created_at']) ?? 0n,
    modifiedAt: instant(row['modified_at']) ?? 0n,
  };
}

/** Rows of a statement that answers `FEEDBACK_COLUMNS`, in its order. */
export async function readFeedback(
  db: Queryable,
  text: string,
  values: readonly unknown[],
): Promise<readonly StoredFeedback[]> {
  const { rows } = await db.query<TextRow>({ text, types: textTypes, values: [...values] });
  return rows.map(parse);
}

/** Stored form of a score. */
export function storedScore(score: number | boolean | null | undefined): {
  readonly score: number | null;
  readonly isFlag: boolean;
} {
  return {
    score: score === null || score === undefined ? null : Number(score),
    isFlag: typeof score === 'boolean',
  };
}

/** The text that filters compare with: that of a value that is no object or list. */
export function wordOf(json: string | null | undefined): string | null {
  if (json === null || json === undefined) return null;
  const value: unknown = parseJson(json);
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? null : json;
}

/** `type` of a source. */
export function sourceType(json: string | undefined): string | null {
  if (json === undefined) return null;
  const { type } = parseJson(json) as { readonly type?: unknown };
  return typeof type === 'string' ? type : null;
}
