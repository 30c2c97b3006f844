import { PublicError, type FieldProblem } from '#lib/errors';
import { type Connection, textTypes } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import { deletedProjects } from '../project/project-deletions.js';
import {
  FEEDBACK_COLUMNS,
  FEEDBACK_LIMITS,
  type NewFeedback,
  type OwnedProject,
  readFeedback,
  sourceType,
  type StoredFeedback,
  storedScore,
  wordOf,
} from './feedback.js';
import { findPlaces, findRoots } from '../run/run-keys.js';

/** Sender of feedback; see `Feedbacks`. */
interface FeedbackSender {
  readonly tenantId: string;
  readonly own: OwnedProject | undefined;
}

/** Outcome for feedback that was sent. */
export interface FeedbackOutcome {
  readonly stored: readonly StoredFeedback[];
  readonly refused: readonly { readonly feedback: NewFeedback; readonly problem: FieldProblem }[];
  /** Feedback on deleted traces. */
  readonly erased: readonly NewFeedback[];
  /** Runs that feedback waits for now: after the commit it is to be looked whether they have come. */
  readonly awaited: readonly string[];
  /** Traces that feedback makes longlived: after the commit they are to be upgraded. */
  readonly extended: readonly string[];
}

/** Place of feedback. */
interface Target {
  readonly projectId: string | undefined;
  readonly traceId: string | undefined;
  /** Start time as the database writes it. */
  readonly startTime: string | undefined;
  readonly waits: boolean;
}

type Placed = readonly [feedback: NewFeedback, target: Target];

/** Any number that no other lock of this database begins with. */
const WAITING_LOCK = 7_214_013;

const NOTHING: FeedbackOutcome = { stored: [], refused: [], erased: [], awaited: [], extended: [] };

/**
 * Stores feedback in the transaction of the caller, who holds the tenant's lock of erasures. Feedback whose
 * id is stored already replaces it, if it is of the same run and its sender may do so. Keys of runs are
 * locked, so the counts of a run stay true and the run stays until the feedback is stored. The caller takes
 * no locks after this.
 * @throws PublicError forbidden when feedback names a project that is not the sender's
 */
export async function storeFeedback(
  client: Connection,
  { tenantId, own }: FeedbackSender,
  sent: readonly NewFeedback[],
): Promise<FeedbackOutcome> {
  if (sent.length === 0) return NOTHING;
  // the last of those with one id counts, as everywhere
  const all = [...new Map(sent.map((feedback) => [feedback.id, feedback])).values()];
  for (const feedback of all) checkProject(feedback, own);
  const collected = new Collected();
  const ofRuns = await runsOf(client, tenantId, own, all, collected);
  const ofProjects = await projectsOf(client, tenantId, all, collected);
  const placed = await withinLimits(client, tenantId, [...ofRuns, ...ofProjects], collected);
  const stored = await insert(client, tenantId, own, placed);
  const ids = new Set(stored.map(({ id }) => id));
  for (const [feedback] of placed) if (!ids.has(feedback.id)) collected.refuse(feedback, takenId(feedback));
  const awaited = placed.flatMap(([{ id, runId }, { waits }]) =>
    waits && runId !== undefined && ids.has(id) ? [runId] : [],
  );
  const extended = placed.flatMap(([{ id, extendsRetention }, { traceId }]) =>
    traceId !== undefined && extendsRetention !== false && ids.has(id) ? [traceId] : [],
  );
  return { stored, ...collected.found, awaited: [...new Set(awaited)], extended };
}

/** Feedback that is not stored. */
class Collected {
  readonly #refused: { feedback: NewFeedback; problem: FieldProblem }[] = [];
  readonly #erased: NewFeedback[] = [];

  refuse(feedback: NewFeedback, problem: FieldProblem): void {
    this.#refused.push({ feedback, problem });
  }

  erase(feedback: NewFeedback): void {
    this.#erased.push(feedback);
  }

  get found(): Pick<FeedbackOutcome, 'refused' | 'erased'> {
    return { refused: this.#refused, erased: this.#erased };
  }
}

function checkProject({ id, projectId }: NewFeedback, own: OwnedProject | undefined): void {
  if (own === undefined || projectId === undefined || projectId === own.id) return;
  throw new PublicError(
    'forbidden',
    `storing the feedback ${id} failed: it belongs to the tracing project ${projectId}, and this key writes into ${own.name} only; use that project or a key of the workspace`,
  );
}

/** One id may occur in several traces: without a trace any of them is used. */
const FIND_RUNS = `
SELECT w.at, k.trace_id, k.project_id, k.start_time, EXISTS (
    SELECT FROM trace_erasures e WHERE e.tenant_id = $1 AND e.kind = 'trace'
      AND e.id = coalesce(k.trace_id, w.trace_id, w.id)::text AND (k.project_id IS NULL OR e.project_id = k.project_id)
  ) AS is_erased
FROM (
  SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) WITH ORDINALITY AS u(id, trace_id, project_id, at)
  ORDER BY id, trace_id
) w LEFT JOIN LATERAL (
  SELECT trace_id, project_id, start_time FROM run_keys
  WHERE tenant_id = $1 AND id = w.id AND (w.trace_id IS NULL OR trace_id = w.trace_id)
    AND (w.project_id IS NULL OR project_id = w.project_id) AND project_id <> ALL (${deletedProjects('$1')})
  ORDER BY trace_id LIMIT 1 FOR NO KEY UPDATE
) k ON true`;

/** Feedback whose run is named by the id of its trace belongs to the root of the trace. */
async function withRunsOfTraces(
  client: Connection,
  tenantId: string,
  own: OwnedProject | undefined,
  sent: readonly NewFeedback[],
): Promise<readonly NewFeedback[]> {
  const named = sent.filter(({ runId, traceId = runId }) => traceId === runId);
  const wanted = named.map(({ runId = '' }) => ({ id: runId, traceId: undefined }));
  const places = await findPlaces(client, tenantId, wanted);
  const traces = wanted.flatMap(({ id }, at) => (places[at] ? [] : [id]));
  if (traces.length === 0) return sent;
  const roots = await findRoots(client, tenantId, traces, own && [own.id]);
  return sent.map((feedback) => {
    const { runId = '', traceId = runId } = feedback;
    const root = traceId === runId ? roots.get(runId) : undefined;
    return root ? { ...feedback, runId: root.id, traceId: root.traceId } : feedback;
  });
}

interface FoundRun {
  readonly at: string;
  readonly trace_id: string | null;
  readonly project_id: string | null;
  readonly start_time: string | null;
  readonly is_erased: string;
}

async function runsOf(
  client: Connection,
  tenantId: string,
  own: OwnedProject | undefined,
  all: readonly NewFeedback[],
  collected: Collected,
): Promise<readonly Placed[]> {
  const sent = all.filter(({ runId }) => runId !== undefined);
  if (sent.length === 0) return [];
  const ofRuns = await withRunsOfTraces(client, tenantId, own, sent);
  const { rows } = await client.query<FoundRun>({
    text: FIND_RUNS,
    types: textTypes,
    values: [
      tenantId,
      ofRuns.map(({ runId }) => runId),
      ofRuns.map(({ traceId }) => traceId ?? null),
      ofRuns.map(({ projectId }) => projectId ?? own?.id ?? null),
    ],
  });
  const placed: Placed[] = [];
  for (const row of rows) {
    const feedback = ofRuns[Number(row.at) - 1];
    if (!feedback) continue;
    if (row.is_erased === 't') collected.erase(feedback);
    else
      placed.push([
        feedback,
        {
          projectId: row.project_id ?? undefined,
          traceId: row.trace_id ?? undefined,
          startTime: row.start_time ?? undefined,
          waits: row.project_id === null,
        },
      ]);
  }
  return placed;
}

/** Feedback of projects themselves. */
async function projectsOf(
  client: Connection,
  tenantId: string,
  all: readonly NewFeedback[],
  collected: Collected,
): Promise<readonly Placed[]> {
  const ofProjects = all.filter(({ runId }) => runId === undefined);
  if (ofProjects.length === 0) return [];
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM projects WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
    [tenantId, [...new Set(ofProjects.map(({ projectId }) => projectId ?? null))]],
  );
  const known = new Set(rows.map(({ id }) => id));
  return ofProjects.flatMap((feedback): Placed[] => {
    const { projectId } = feedback;
    if (projectId !== undefined && known.has(projectId))
      return [[feedback, { projectId, traceId: undefined, startTime: undefined, waits: false }]];
    collected.refuse(feedback, unknownProject(feedback));
    return [];
  });
}

/** Feedback that a run, or a project itself, has already, not counting replaced feedback. */
const COUNT = `
SELECT run_id AS id, count(*)::int AS count FROM feedback
WHERE tenant_id = $1 AND run_id = ANY ($2::uuid[]) AND id <> ALL ($4::uuid[]) GROUP BY run_id
UNION ALL
SELECT project_id, count(*)::int FROM feedback
WHERE tenant_id = $1 AND run_id IS NULL AND project_id = ANY ($3::uuid[]) AND id <> ALL ($4::uuid[]) GROUP BY project_id`;

async function withinLimits(
  client: Connection,
  tenantId: string,
  placed: readonly Placed[],
  collected: Collected,
): Promise<readonly Placed[]> {
  const isWaiting = placed.some(([, { waits }]) => waits);
  let room = isWaiting ? await waitingRoom(client, tenantId, placed) : 0;
  const { rows } = await client.query<{ id: string; count: number }>(COUNT, [
    tenantId,
    [...new Set(placed.flatMap(([{ runId }]) => runId ?? []))],
    [...new Set(placed.flatMap(([{ runId, projectId }]) => (runId === undefined ? (projectId ?? []) : [])))],
    placed.map(([{ id }]) => id),
  ]);
  const counts = new Map(rows.map(({ id, count }) => [id, count]));
  return placed.filter(([feedback, { waits }]) => {
    const of = feedback.runId ?? feedback.projectId ?? '';
    const count = counts.get(of) ?? 0;
    if (waits && room < 1) collected.refuse(feedback, tooManyWaiting(feedback));
    else if (count >= FEEDBACK_LIMITS.ofOne) collected.refuse(feedback, tooMany(feedback));
    else {
      counts.set(of, count + 1);
      if (waits) room--;
      return true;
    }
    return false;
  });
}

async function waitingRoom(client: Connection, tenantId: string, placed: readonly Placed[]): Promise<number> {
  await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [WAITING_LOCK, tenantId]);
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM feedback
    WHERE tenant_id = $1 AND waits_since IS NOT NULL AND id <> ALL ($2::uuid[])`,
    [tenantId, placed.map(([{ id }]) => id)],
  );
  return FEEDBACK_LIMITS.waiting - (rows[0]?.count ?? 0);
}

/** Members that are stored as they are sent, with their types. */
const MEMBERS = {
  key: 'text',
  score: 'float8',
  is_flag: 'boolean',
  value: 'text',
  value_json: 'text',
  correction: 'text',
  comment: 'text',
  source: 'text',
  source_json: 'text',
  config: 'text',
  extra: 'text',
  is_error: 'boolean',
  extends_retention: 'boolean',
  comparative_experiment_id: 'uuid',
  feedback_group_id: 'uuid',
} as const;
const PLACE = {
  project_id: 'uuid',
  trace_id: 'uuid',
  start_time: 'timestamptz',
  named_project_id: 'uuid',
  named_trace_id: 'uuid',
  named_start_time: 'timestamptz',
} as const;

const MEMBER_NAMES = Object.keys(MEMBERS);
const PLACE_NAMES = Object.keys(PLACE);

function listed(names: readonly string[], prefix: string): string {
  return names.map((name) => `${prefix}${name}`).join(', ');
}

const INSERT = `
INSERT INTO feedback AS f (tenant_id, id, run_id, ${listed([...PLACE_NAMES, ...MEMBER_NAMES], '')}, waits_since, created_at)
SELECT $1, v.id, v.run_id, ${listed([...PLACE_NAMES, ...MEMBER_NAMES], 'v.')},
  CASE WHEN v.waits THEN clock_timestamp() END, coalesce(v.created_at, clock_timestamp())
FROM json_to_recordset($2::json) AS v(id uuid, run_id uuid, waits boolean, created_at timestamptz,
  ${Object.entries({ ...PLACE, ...MEMBERS })
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')})
ORDER BY v.id
ON CONFLICT (tenant_id, id) DO UPDATE SET
  ${[...PLACE_NAMES, ...MEMBER_NAMES].map((name) => `${name} = EXCLUDED.${name}`).join(', ')},
  waits_since = CASE WHEN EXCLUDED.waits_since IS NOT NULL THEN coalesce(f.waits_since, EXCLUDED.waits_since) END,
  modified_at = CASE WHEN (${listed(MEMBER_NAMES, 'f.')}) IS DISTINCT FROM (${listed(MEMBER_NAMES, 'EXCLUDED.')})
    THEN clock_timestamp() ELSE f.modified_at END
WHERE f.run_id IS NOT DISTINCT FROM EXCLUDED.run_id
  AND (f.run_id IS NOT NULL OR f.project_id = EXCLUDED.project_id)
  AND ($3::uuid IS NULL OR coalesce(f.project_id, f.named_project_id) = $3)
  AND (f.id <> ALL ($4::uuid[]) OR (${listed(MEMBER_NAMES, 'f.')}) IS NOT DISTINCT FROM (${listed(MEMBER_NAMES, 'EXCLUDED.')}))
RETURNING ${FEEDBACK_COLUMNS}`;

/** @returns the stored feedback, without any whose id belongs to feedback on something else */
async function insert(
  client: Connection,
  tenantId: string,
  own: OwnedProject | undefined,
  placed: readonly Placed[],
): Promise<readonly StoredFeedback[]> {
  if (placed.length === 0) return [];
  const rows = placed.map(([feedback, target]) => ({
    ...rowOf(feedback),
    project_id: target.projectId,
    trace_id: target.traceId,
    start_time: target.startTime,
    waits: target.waits,
    named_project_id: feedback.runId === undefined ? undefined : (feedback.projectId ?? own?.id),
  }));
  const onlyNew = placed.flatMap(([{ id, replacesNone }]) => (replacesNone === true ? [id] : []));
  return readFeedback(client, INSERT, [tenantId, JSON.stringify(rows), own?.id ?? null, onlyNew]);
}

function time(value: Instant | undefined): string | undefined {
  return value === undefined ? undefined : formatInstant(value);
}

function rowOf(feedback: NewFeedback): Readonly<Record<string, unknown>> {
  const { score, isFlag } = storedScore(feedback.score);
  return {
    id: feedback.id,
    run_id: feedback.runId,
    created_at: time(feedback.createdAt),
    named_trace_id: feedback.traceId,
    named_start_time: time(feedback.startTime),
    key: feedback.key,
    score,
    is_flag: isFlag,
    value: wordOf(feedback.value),
    value_json: feedback.value,
    correction: feedback.correction,
    comment: feedback.comment,
    source: sourceType(feedback.source),
    source_json: feedback.source,
    config: feedback.config,
    extra: feedback.extra,
    is_error: feedback.isError,
    extends_retention: feedback.extendsRetention,
    comparative_experiment_id: feedback.comparativeExperimentId,
    feedback_group_id: feedback.feedbackGroupId,
  };
}

function unknownProject({ place }: NewFeedback): FieldProblem {
  return { loc: [...place, 'session_id'], msg: 'project not found', type: 'not_found' };
}

function takenId({ id, place, replacesNone }: NewFeedback): FieldProblem {
  const [taken, type] =
    replacesNone === true
      ? ['other feedback has this id, and this key changes none', 'feedback_exists']
      : ['feedback of another run has this id', 'other_run'];
  const msg = `storing the feedback ${id} failed: ${taken}; send it with an id of its own`;
  return { loc: [...place, 'id'], msg, type };
}

function tooMany({ runId, projectId, place }: NewFeedback): FieldProblem {
  const of = runId === undefined ? `the project ${projectId}` : `the run ${runId}`;
  return {
    loc: [...place],
    msg: `storing the feedback failed: ${of} has ${FEEDBACK_LIMITS.ofOne} already, which is the most; delete some, or update those it has`,
    type: 'too_many_feedback',
  };
}

function tooManyWaiting({ place }: NewFeedback): FieldProblem {
  return {
    loc: [...place, 'run_id'],
    msg: `storing the feedback failed: its run has not arrived and ${FEEDBACK_LIMITS.waiting} wait for runs already; send the run first`,
    type: 'too_many_waiting',
  };
}
