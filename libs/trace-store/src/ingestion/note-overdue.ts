import { errorText } from '#lib/errors';
import type { Pool, Queryable } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Projects } from '../project/project.js';
import { dropOverdueFeedback } from '../feedback/join-feedback.js';
import { dropOverdue, type OverduePatch } from './waiting-patches.js';

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
