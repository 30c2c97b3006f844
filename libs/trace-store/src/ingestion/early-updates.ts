import { setImmediate } from 'node:timers/promises';
import { errorText } from '#lib/errors';
import type { Pool, Queryable } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { dropOverdueFeedback } from '../feedback/join-feedback.js';
import type { Projects } from '../project/project-table.js';
import { runKey } from '../run/run-keys.js';
import type { RunPlace } from '../run/stored-run.js';
import { parseWaiting } from './ingest-request.js';
import type { ParsedOperation } from './run-group.js';
import { dropOverdue, type FoundPatch, type OverduePatch } from './waiting-patches.js';

/** Number of runs of a project that one pass names; the count has them all. */
const NAMED = 100;
/** The problems of senders that name no project that exists. */
const NO_PROJECT = '00000000-0000-0000-0000-000000000000';
const TYPE = 'run_never_arrived';

/** Data that waited for runs that did not come. */
interface Overdue {
  readonly what: 'updates' | 'feedback';
  readonly dropped: readonly OverduePatch[];
}

/** Drops updates and feedback whose runs never came, and notes them as problems of their projects. */
export async function dropAndNoteOverdue(
  pool: Pool,
  projects: Pick<Projects, 'find'>,
  log: Logger,
): Promise<void> {
  for (;;) {
    const dropped = await dropOverdue(pool);
    if (dropped.length === 0) break;
    log.warn({ patches: dropped.length }, 'dropped updates whose runs never arrived');
    await noteOverdue(pool, projects, { what: 'updates', dropped }, log);
  }
  for (;;) {
    const dropped = await dropOverdueFeedback(pool);
    if (dropped.length === 0) return;
    log.warn({ feedback: dropped.length }, 'dropped feedback whose runs never arrived');
    await noteOverdue(pool, projects, { what: 'feedback', dropped }, log);
  }
}

async function noteOverdue(
  db: Queryable,
  projects: Pick<Projects, 'find'>,
  { what, dropped }: Overdue,
  log: Logger,
): Promise<void> {
  const byProject = Map.groupBy(dropped, ({ tenantId, project }) => JSON.stringify([tenantId, project]));
  for (const some of byProject.values())
    try {
      await noteOfProject(db, projects, { what, dropped: some });
    } catch (error) {
      const [{ tenantId, project } = {}] = some;
      const fields = { tenantId, project, [what]: some.length, problem: errorText(error) };
      log.error(fields, 'noting what was dropped of a project failed; those of others are noted');
    }
}

async function noteOfProject(
  db: Queryable,
  projects: Pick<Projects, 'find'>,
  { what, dropped: some }: Overdue,
): Promise<void> {
  const [first] = some;
  if (!first) return;
  const { tenantId, project } = first;
  const found = project && (await projects.find(tenantId, project));
  const projectId = found?.id ?? NO_PROJECT;
  await db.query(
    `INSERT INTO ingest_problems (tenant_id, project_id, kind, type, run_id, message)
    SELECT $1, $2, 'dropped', '${TYPE}', id, 'storing ' || $4 || ' of the run ' || id ||
      ' failed: its create did not arrive within a day; send the create, too, or look why the client left it out'
    FROM unnest($3::text[]) AS id`,
    [tenantId, projectId, [...new Set(some.map(({ runId }) => runId))].slice(0, NAMED), what],
  );
  await db.query(
    `INSERT INTO ingest_problem_counts AS c (tenant_id, project_id, kind, type, count)
    VALUES ($1, $2, 'dropped', '${TYPE}', $3)
    ON CONFLICT (tenant_id, project_id, kind, type)
      DO UPDATE SET count = c.count + EXCLUDED.count, last_seen_at = clock_timestamp()`,
    [tenantId, projectId, some.length],
  );
}

/** Number of updates that are read before other requests are served. */
const READ_AT_ONCE = 200;

interface EarlyUpdate {
  readonly at: number;
  readonly patch: FoundPatch;
  readonly parsed: ParsedOperation;
}

/**
 * Updates that came before their runs, each read once: ten thousand of one id may wait while runs of that id are made in
 * as many traces.
 */
export class EarlyUpdates {
  /**
   * Updates by run and trace, or by run alone when they name no trace; each in the order in which they came.
   */
  readonly #waiting: Map<string, EarlyUpdate[]>;
  readonly #ended: FoundPatch[] = [];

  private constructor(updates: readonly EarlyUpdate[]) {
    this.#waiting = Map.groupBy(updates, ({ patch: { runId, traceId }, parsed: { change } }) => {
      const named = traceId ?? change.traceId;
      return named === undefined ? runId : runKey({ id: runId, traceId: named });
    });
  }

  /** @param found oldest first */
  static async read(found: readonly FoundPatch[]): Promise<EarlyUpdates> {
    const updates: EarlyUpdate[] = [];
    for (const [at, patch] of found.entries()) {
      if (at > 0 && at % READ_AT_ONCE === 0) await setImmediate();
      for (const parsed of await parseWaiting([patch])) updates.push({ at, patch, parsed });
    }
    return new EarlyUpdates(updates);
  }

  /** Updates that no longer wait. */
  get ended(): readonly FoundPatch[] {
    return this.#ended;
  }

  /** Takes the updates of a run that is being made, oldest first. Updates of another trace wait on. */
  take(place: RunPlace): readonly ParsedOperation[] {
    const taken: EarlyUpdate[] = [];
    for (const key of [place.id, runKey(place)]) {
      taken.push(...(this.#waiting.get(key) ?? []));
      this.#waiting.delete(key);
    }
    for (const { patch } of taken) this.#ended.push(patch);
    return taken
      .filter(({ patch }) => mayChange(patch, place))
      .sort((one, other) => one.at - other.at)
      .map(({ parsed }) => parsed);
  }
}

/** An update that came before its run changes it only if its sender may. */
function mayChange({ projectId }: FoundPatch, place: RunPlace): boolean {
  return projectId === undefined || projectId === place.projectId;
}
