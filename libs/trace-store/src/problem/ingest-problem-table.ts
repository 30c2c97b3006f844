import type { FieldProblem } from '#lib/errors';
import type { Pool } from '#lib/postgres';
import { isUuid } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { deletedProjects } from '../project/project-deletions.js';
import type { ProjectReference } from '../project/project.js';
import type { Projects } from '../project/project-table.js';
import { findPlaces } from '../run/run-keys.js';
import type { MemberNote } from '../wire/member-reader.js';
import type { LeftOut } from '../wire/run-operation.js';

/** Refused: the run was not stored. Mended: it was, with a member changed. Dropped: without a member. */
type IngestEventKind = 'refused' | 'mended' | 'dropped';

/** Something that was not stored as it came. */
export interface IngestEvent {
  readonly kind: IngestEventKind;
  /** A stable word. */
  readonly type: string;
  readonly runId?: string | undefined;
  /** Undefined when the operation names none: it is that of the run, if there is one. */
  readonly project?: ProjectReference | undefined;
  readonly member?: string | undefined;
  readonly message: string;
  /** Number of events like this one that it represents. */
  readonly times: number;
}

/** A broken client must not fill memory with its own problems. */
const MAX_EVENTS = 1_000;
const MAX_MENDED = 100;
/** Problems of one run that are put into words. */
const MAX_WORDS = 3;
const MAX_TEXT = 500;
const MAX_NAME = 200;

/** The run that an operation is about, if it names one. */
export interface Subject {
  readonly id?: string | undefined;
  readonly project?: ProjectReference | undefined;
}

/** Collects the parts of one batch that were not stored as they came. */
export class IngestReport {
  readonly #events: IngestEvent[] = [];
  readonly #standIns = new Map<string, number>();
  readonly #mended: FieldProblem[] = [];

  /** A run that is not stored, with everything that is wrong with it. */
  refuse({ id, project }: Subject, problems: readonly FieldProblem[]): void {
    const [first] = problems;
    if (!first) return;
    this.#add({
      kind: 'refused',
      type: first.type,
      runId: id,
      project,
      member: nameOf(first),
      message: problems
        .slice(0, MAX_WORDS)
        .map((problem) => `${nameOf(problem)}: ${problem.msg}`)
        .join('; '),
    });
  }

  /** Members of a run that is stored. */
  note({ id, project }: Subject, notes: readonly MemberNote[]): void {
    for (const note of notes) {
      const { kind, loc, msg, type } = note;
      if (this.#mended.length < MAX_MENDED) this.#mended.push({ loc, msg, type });
      this.#add({ kind, type, runId: id, project, member: nameOf(note), message: msg });
    }
  }

  /** @param projectOf project that the batch names for a run */
  leaveOut(parts: readonly LeftOut[], projectOf: (runId: string) => ProjectReference | undefined): void {
    for (const { type, runId, member, why } of parts)
      this.#add({
        kind: 'dropped',
        type,
        runId,
        member,
        message: why ?? `${type} is not stored by this platform yet`,
        project: runId === undefined ? undefined : projectOf(runId),
      });
  }

  get mended(): readonly FieldProblem[] {
    return this.#mended;
  }

  get events(): readonly IngestEvent[] {
    return this.#events;
  }

  #add(event: Omit<IngestEvent, 'times'>): void {
    const key = JSON.stringify([event.kind, event.type, event.project]);
    if (this.#events.length < MAX_EVENTS) {
      this.#standIns.set(key, this.#events.length);
      this.#events.push({
        ...event,
        member: event.member?.slice(0, MAX_NAME),
        message: event.message.slice(0, MAX_TEXT),
        times: 1,
      });
      return;
    }
    const at = this.#standIns.get(key) ?? this.#events.length - 1;
    const known = this.#events[at];
    if (known) this.#events[at] = { ...known, times: known.times + 1 };
  }
}

function nameOf({ loc }: Pick<FieldProblem, 'loc'>): string {
  return String(loc.at(-1) ?? 'run');
}

/** One thing that was not stored as it came. */
export interface IngestProblem {
  readonly kind: IngestEventKind;
  readonly type: string;
  /** Undefined when no project could be found for it. */
  readonly projectId: string | undefined;
  readonly runId: string | undefined;
  readonly member: string | undefined;
  readonly message: string;
  readonly seenAt: Date;
}

/** Number of times that something happened since the project exists. */
export interface IngestProblemCount {
  readonly kind: IngestEventKind;
  readonly type: string;
  readonly count: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
}

/** Data that ingestion did not store as it came: all of it counted, the newest of each project in words. */
export interface IngestProblems {
  /**
   * Keeps that a request was refused of which no run could be read.
   * @param own name of the one project that its sender may write into
   */
  refuse(tenantId: string, why: Pick<IngestProblem, 'type' | 'message'>, own?: string): Promise<void>;
  /**
   * Newest first.
   * @param options.projectId of one project; absent: of the tenant, also of runs without a project
   */
  list(
    tenantId: string,
    options: { readonly projectId?: string; readonly limit: number },
  ): Promise<{ readonly counts: readonly IngestProblemCount[]; readonly recent: readonly IngestProblem[] }>;
}

const LINES = 20;
const WINDOW_MS = 10_000;

/** Bounds lines of one kind in the log: a sender of ten thousand wrong runs must not push out everything else. */
class LogShare {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #endsMs = 0;
  #left = 0;
  #passedOver = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * @returns the number of lines that were dropped since the last one; undefined when this one is dropped,
   * too
   */
  take(): { readonly passedOver: number } | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#endsMs) [this.#endsMs, this.#left] = [nowMs + WINDOW_MS, LINES];
    if (this.#left === 0) {
      this.#passedOver++;
      return undefined;
    }
    this.#left--;
    const passedOver = this.#passedOver;
    this.#passedOver = 0;
    return { passedOver };
  }
}

type Refusal = Pick<IngestProblem, 'type' | 'message'>;

/** A refusal, and how often it happened. */
type CountedRefusal = Refusal & { readonly times: number };

/** Refusals of one sender that are written together. */
interface Collected {
  readonly refusals: CountedRefusal[];
  readonly written: Promise<void>;
}

/** Number of the newest refusals that are kept apart; of the others only the counts are kept. */
const TOLD_APART = 100;

/**
 * Writes the refusals of a tenant one batch at a time: all of them change the same row, and each would hold a
 * connection while it waits for the one before. Refusals that come meanwhile are batched.
 */
export class RefusalLine {
  readonly #collecting = new Map<string, Collected>();
  /** The last set of each tenant, until it is written. */
  readonly #last = new Map<string, Promise<void>>();

  /** @param write must not fail */
  constructor(
    private readonly write: (
      tenantId: string,
      refusals: readonly CountedRefusal[],
      own: string | undefined,
    ) => Promise<void>,
  ) {}

  /** Done when it is written. */
  add(tenantId: string, refusal: Refusal, own: string | undefined): Promise<void> {
    const sender = JSON.stringify([tenantId, own]);
    const { refusals, written } = this.#collecting.get(sender) ?? this.#open(tenantId, sender, own);
    const { type, message } = refusal;
    const same = refusals.findIndex((one) => one.type === type && one.message === message);
    const at =
      same < 0 && refusals.length >= TOLD_APART ? refusals.findIndex((one) => one.type === type) : same;
    const [before] = at < 0 ? [] : refusals.splice(at, 1);
    refusals.push({ type, message, times: (before?.times ?? 0) + 1 });
    return written;
  }

  #open(tenantId: string, sender: string, own: string | undefined): Collected {
    const refusals: CountedRefusal[] = [];
    const written = (this.#last.get(tenantId) ?? Promise.resolve())
      .then(() => {
        this.#collecting.delete(sender);
        return this.write(tenantId, refusals, own);
      })
      .finally(() => {
        if (this.#last.get(tenantId) === written) this.#last.delete(tenantId);
      });
    this.#last.set(tenantId, written);
    const collected = { refusals, written };
    this.#collecting.set(sender, collected);
    return collected;
  }
}

/** Newest problems of a project that are kept. */
const KEPT = 100;
/** Project of problems that have none. */
const NO_PROJECT = '00000000-0000-0000-0000-000000000000';

/** The order of rows is the order of their locks. */
const RECORD = `
WITH placed AS (
  SELECT * FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
    WITH ORDINALITY AS e(project_id, kind, type, run_id, member, message, times, at)
), kept AS (
  INSERT INTO ingest_problems (tenant_id, project_id, kind, type, run_id, member, message)
  SELECT $1, project_id, kind, type, run_id, member, message FROM (
    SELECT *, row_number() OVER (PARTITION BY project_id ORDER BY at DESC) AS age FROM placed
  ) p WHERE age <= ${KEPT} ORDER BY at
)
INSERT INTO ingest_problem_counts AS c (tenant_id, project_id, kind, type, count)
SELECT $1, project_id, kind, type, sum(times) FROM placed GROUP BY 2, 3, 4 ORDER BY 2, 3, 4
ON CONFLICT (tenant_id, project_id, kind, type)
DO UPDATE SET count = c.count + excluded.count, last_seen_at = clock_timestamp()`;

const FORGET = `
DELETE FROM ingest_problems p USING (
  SELECT u.id, (
    SELECT seq FROM ingest_problems i WHERE i.tenant_id = $1 AND i.project_id = u.id
    ORDER BY seq DESC OFFSET ${KEPT} LIMIT 1
  ) AS last FROM unnest($2::uuid[]) AS u(id)
) o WHERE p.tenant_id = $1 AND p.project_id = o.id AND p.seq <= o.last`;

interface ProblemRow {
  readonly project_id: string;
  readonly kind: IngestEventKind;
  readonly type: string;
  readonly run_id: string | null;
  readonly member: string | null;
  readonly message: string;
  readonly seen_at: Date;
}

interface CountRow {
  readonly kind: IngestEventKind;
  readonly type: string;
  readonly count: string;
  readonly first_seen_at: Date;
  readonly last_seen_at: Date;
}

interface IngestProblemParts {
  readonly pool: Pool;
  readonly projects: Pick<Projects, 'findAll'>;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** The tables `ingest_problems` and `ingest_problem_counts`. */
export class IngestProblemTable implements Pick<IngestProblems, 'list'> {
  readonly #lines: LogShare;

  constructor(private readonly parts: IngestProblemParts) {
    this.#lines = new LogShare(parts.clock);
  }

  async refuseAll(tenantId: string, refusals: readonly CountedRefusal[], own?: string): Promise<void> {
    const events = refusals.map((one) => ({ ...one, kind: 'refused' }) as const);
    await this.record(tenantId, events, own);
  }

  /**
   * Keeps the problems of a batch, once it is stored. A failure here must not fail the stored data.
   * @param own name of the one project that the sender may write into
   */
  async record(tenantId: string, events: readonly IngestEvent[], own: string | undefined): Promise<void> {
    if (events.length === 0) return;
    this.#log(tenantId, events);
    try {
      await this.#store(tenantId, events, own === undefined ? undefined : { kind: 'name', name: own });
    } catch (error) {
      this.parts.log.warn({ err: error, tenant: tenantId }, 'recording ingest problems failed');
    }
  }

  async list(
    tenantId: string,
    { projectId, limit }: { readonly projectId?: string; readonly limit: number },
  ): Promise<{ readonly counts: readonly IngestProblemCount[]; readonly recent: readonly IngestProblem[] }> {
    const { pool } = this.parts;
    const kept = `tenant_id = $1 AND project_id <> ALL (${deletedProjects('$1')})`;
    const [where, values] =
      projectId === undefined ? [kept, [tenantId]] : [`${kept} AND project_id = $2`, [tenantId, projectId]];
    const recent = await pool.query<ProblemRow>(
      `SELECT * FROM ingest_problems WHERE ${where} ORDER BY seq DESC LIMIT ${Math.trunc(limit)}`,
      values,
    );
    const counts = await pool.query<CountRow>(
      `SELECT kind, type, sum(count) AS count, min(first_seen_at) AS first_seen_at, max(last_seen_at) AS last_seen_at
      FROM ingest_problem_counts WHERE ${where} GROUP BY kind, type ORDER BY kind, type`,
      values,
    );
    return {
      counts: counts.rows.map(
        ({ kind, type, count, first_seen_at: firstSeenAt, last_seen_at: lastSeenAt }) => ({
          kind,
          type,
          count: Number(count),
          firstSeenAt,
          lastSeenAt,
        }),
      ),
      recent: recent.rows.map(({ kind, type, message, ...row }) => ({
        kind,
        type,
        message,
        seenAt: row.seen_at,
        projectId: row.project_id === NO_PROJECT ? undefined : row.project_id,
        runId: row.run_id ?? undefined,
        member: row.member ?? undefined,
      })),
    };
  }

  async #store(
    tenantId: string,
    events: readonly IngestEvent[],
    own: ProjectReference | undefined,
  ): Promise<void> {
    const { pool } = this.parts;
    const projectIds = await this.#projectsOf(tenantId, events, own);
    const text = (value: string | undefined): string | null =>
      value === undefined ? null : value.replaceAll('\0', '\uFFFD').toWellFormed();
    await pool.query(RECORD, [
      tenantId,
      projectIds,
      events.map(({ kind }) => kind),
      events.map(({ type }) => type),
      events.map(({ runId }) => text(runId)),
      events.map(({ member }) => text(member)),
      events.map(({ message }) => text(message)),
      events.map(({ times }) => times),
    ]);
    await pool.query(FORGET, [tenantId, [...new Set(projectIds)]]);
  }

  /** The project of each event: its sender's own, the one it names, else that of its run. */
  async #projectsOf(
    tenantId: string,
    events: readonly IngestEvent[],
    own: ProjectReference | undefined,
  ): Promise<readonly string[]> {
    const named = events.map(({ project }) => own ?? project);
    const references = new Map(named.flatMap((one) => (one ? [[JSON.stringify(one), one] as const] : [])));
    const ids = new Map<string, string>();
    for (const { id, name } of await this.parts.projects.findAll(tenantId, [...references.values()])) {
      ids.set(JSON.stringify({ kind: 'id', id }), id);
      ids.set(JSON.stringify({ kind: 'name', name }), id);
    }
    const lost = events.flatMap(({ runId }, at) =>
      !named[at] && isUuid(runId) ? [runId.toLowerCase()] : [],
    );
    const wanted = [...new Set(lost)].map((id) => ({ id, traceId: undefined }));
    for (const place of await findPlaces(this.parts.pool, tenantId, wanted))
      if (place) ids.set(place.id, place.projectId);
    return events.map(({ runId = '' }, at) => {
      const reference = named[at];
      return ids.get(reference ? JSON.stringify(reference) : runId.toLowerCase()) ?? NO_PROJECT;
    });
  }

  #log(tenant: string, events: readonly IngestEvent[]): void {
    for (const { kind, runId, member, type } of events) {
      if (kind !== 'refused') continue;
      const share = this.#lines.take();
      if (!share) continue;
      const notLogged = share.passedOver === 0 ? {} : { notLogged: share.passedOver };
      this.parts.log.warn({ tenant, run: runId, member, type, ...notLogged }, 'refused a run');
    }
  }
}
