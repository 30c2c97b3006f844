import { PublicError } from '#lib/errors';
import { inTransaction, type Pool } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import {
  FEEDBACK_COLUMNS,
  type FeedbackChange,
  type FeedbackSearch,
  type NewFeedback,
  type OwnedProject,
  readFeedback,
  type StoredFeedback,
  storedScore,
  wordOf,
} from './feedback.js';
import { joinFeedback } from './join-feedback.js';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import { deletedProjects } from '../project/project-deletions.js';
import { upgradeTraces } from '../retention/retention-table.js';
import { storeFeedback } from './store-feedback.js';

/** Limit of a list: a tenant may have any number. */
const LIST_LIMIT: ReadLimit = {
  what: 'Finding this feedback',
  advice: 'ask for runs, one session or a shorter time',
};

/**
 * SQL for the rows that a caller limited to the project `$3` can reach, or all rows when `$3` is null; rows
 * left of deleted projects are excluded.
 */
const REACHED = `($3::uuid IS NULL OR coalesce(f.project_id, f.named_project_id) = $3)
  AND (f.project_id IS NULL OR f.project_id <> ALL (${deletedProjects('$1')}))`;
const BY_ID = `f.tenant_id = $1 AND f.id = $2 AND ${REACHED}`;

/**
 * Feedback of runs and projects. `onlyProject` is the id of the one project that a caller reaches, undefined
 * for one that reaches all; feedback on other projects is not found.
 * The table `feedback`.
 */
export class FeedbackTable {
  /** @param erasureLock the lock of a tenant that is shared while something of a trace is stored */
  constructor(
    private readonly pool: Pool,
    private readonly erasureLock: (tenantId: string) => string,
  ) {}

  /**
   * Stores feedback; one that has its id is replaced, unless `replacesNone`. Feedback of a run that has not arrived waits for it.
   * @throws PublicError not_found for a project, forbidden, conflict, too_many
   */
  async create(tenantId: string, feedback: NewFeedback, own?: OwnedProject): Promise<StoredFeedback> {
    const { stored, refused, awaited, extended } = await inTransaction(
      this.pool,
      (client) => storeFeedback(client, { tenantId, own }, [feedback]),
      ['BEGIN', `SELECT pg_advisory_xact_lock_shared(${this.erasureLock(tenantId)})`],
    );
    await upgradeTraces(this.pool, tenantId, extended);
    await joinFeedback(this.pool, tenantId, awaited);
    const [one] = stored;
    if (one) return one;
    const problem = refused[0]?.problem ?? {
      loc: [...feedback.place, 'run_id'],
      msg: `storing the feedback failed: the trace of the run ${feedback.runId} was deleted`,
      type: 'erased',
    };
    throw new PublicError('invalid', problem.msg, [problem]);
  }

  async get(tenantId: string, id: string, onlyProject?: string): Promise<StoredFeedback | undefined> {
    const [found] = await readFeedback(
      this.pool,
      `SELECT ${FEEDBACK_COLUMNS} FROM feedback f WHERE ${BY_ID}`,
      [tenantId, id, onlyProject ?? null],
    );
    return found;
  }

  /** @returns the feedback as it is now */
  async update(
    tenantId: string,
    id: string,
    change: FeedbackChange,
    onlyProject?: string,
  ): Promise<StoredFeedback | undefined> {
    const { score, isFlag } = storedScore(change.score);
    const sets: string[] = [];
    const values: unknown[] = [tenantId, id, onlyProject ?? null];
    const set = (given: unknown, column: string, value: unknown): void => {
      if (given !== undefined) sets.push(`${column} = $${values.push(value)}`);
    };
    set(change.score, 'score', score);
    set(change.score, 'is_flag', isFlag);
    set(change.value, 'value', wordOf(change.value));
    set(change.value, 'value_json', change.value);
    set(change.correction, 'correction', change.correction);
    set(change.comment, 'comment', change.comment);
    set(change.config, 'config', change.config);
    if (sets.length === 0) return this.get(tenantId, id, onlyProject);
    const [changed] = await readFeedback(
      this.pool,
      `UPDATE feedback f SET ${sets.join(', ')}, modified_at = clock_timestamp() WHERE ${BY_ID} RETURNING ${FEEDBACK_COLUMNS}`,
      values,
    );
    return changed;
  }

  /** @returns whether there was one */
  async delete(tenantId: string, id: string, onlyProject?: string): Promise<boolean> {
    const { rowCount } = await this.pool.query(`DELETE FROM feedback f WHERE ${BY_ID}`, [
      tenantId,
      id,
      onlyProject ?? null,
    ]);
    return rowCount === 1;
  }

  /** Newest first. @throws PublicError bad_request when finding them takes longer than a few seconds */
  async list(
    tenantId: string,
    search: FeedbackSearch,
    { limit, offset }: { readonly limit: number; readonly offset: number },
    onlyProject?: string,
  ): Promise<readonly StoredFeedback[]> {
    const values: unknown[] = [tenantId, limit, onlyProject ?? null, offset];
    const conditions = conditionsOf(search, (value) => `$${values.push(value)}`);
    return limitedRead(
      this.pool,
      (db) =>
        readFeedback(
          db,
          `SELECT ${FEEDBACK_COLUMNS} FROM feedback f
          WHERE ${['f.tenant_id = $1', REACHED, ...conditions].join(' AND ')}
          ORDER BY f.created_at DESC, f.id DESC LIMIT $2 OFFSET $4`,
          values,
        ),
      LIST_LIMIT,
    );
  }
}

export type Feedbacks = Pick<FeedbackTable, keyof FeedbackTable>;

function conditionsOf(search: FeedbackSearch, add: (value: unknown) => string): readonly string[] {
  const { runIds, projectIds, keys, sources, comparativeExperimentId, createdFrom, createdTo } = search;
  const all: string[] = [];
  if (runIds) all.push(`f.run_id = ANY (${add(runIds)}::uuid[])`);
  if (projectIds) all.push(`f.project_id = ANY (${add(projectIds)}::uuid[])`);
  if (keys) all.push(`f.key = ANY (${add(keys)}::text[])`);
  if (sources) all.push(`f.source = ANY (${add(sources)}::text[])`);
  if (comparativeExperimentId !== undefined)
    all.push(`f.comparative_experiment_id = ${add(comparativeExperimentId)}::uuid`);
  if (search.hasComment !== undefined) all.push(`f.comment IS ${search.hasComment ? 'NOT ' : ''}NULL`);
  if (search.hasScore !== undefined) all.push(`f.score IS ${search.hasScore ? 'NOT ' : ''}NULL`);
  if (search.level !== undefined) all.push(`f.run_id IS ${search.level === 'run' ? 'NOT ' : ''}NULL`);
  if (createdFrom !== undefined) all.push(`f.created_at >= ${add(formatInstant(createdFrom))}::timestamptz`);
  if (createdTo !== undefined) all.push(`f.created_at <= ${add(formatInstant(createdTo))}::timestamptz`);
  return all;
}
