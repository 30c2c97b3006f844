import { parseJson } from '#lib/json';
import { inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import {
  type ExportCursor,
  type ExportFile,
  type ExportIntent,
  type ExportProgressRecord,
  type ExportResource,
  type ExportState,
  StaleAttemptError,
  type UnsettledQuery,
} from './export-progress.js';

/**
 * Removes fences of exports that were not used for a week. An export takes 72 hours at most and an attempt
 * four, and once the controller has ended a cancelled export the row of each of its runs rejects late
 * attempts.
 */
export async function tidyFences(pool: Queryable): Promise<void> {
  await pool.query(`DELETE FROM export_fences f WHERE updated_at < now() - interval '7 days'
    AND NOT EXISTS (SELECT FROM export_progress p
      WHERE p.export_uid = f.export_uid AND p.state IN ('running', 'failed', 'held'))`);
}

type TextRow = Readonly<Record<string, string | null>>;

/**
 * Cluster whose transactions a mark is about. A restore from a dump is another cluster, which numbers its own
 * from the start.
 */
const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())';

/** SQL that is true when a run's mark is about this database. */
export const HAS_MARK = `(read_from IS NOT NULL AND read_in = ${CLUSTER})`;

const COLUMNS = `p.run_uid, p.attempt, p.state, p.cursor_start_time, p.cursor_id, p.cursor_trace_id, p.resource, p.feedback_rows, p.rows, p.bytes, p.part,
  p.intent, p.error, p.is_whole,
  CASE WHEN p.changed_since_in = ${CLUSTER} THEN p.changed_since END AS changed_since, COALESCE(${HAS_MARK}, false) AS has_mark, p.updated_at, (SELECT count(*) FROM export_files f WHERE f.run_uid = p.run_uid) AS files`;

function time(text: string | null | undefined): Instant | undefined {
  return text === null || text === undefined ? undefined : parseInstant(text, { zone: 'optional' });
}

function parse(row: TextRow): ExportProgressRecord {
  const startTime = time(row['cursor_start_time']);
  const id = row['cursor_id'];
  const traceId = row['cursor_trace_id'];
  const intent = row['intent'];
  return {
    runUid: row['run_uid'] ?? '',
    attempt: Number(row['attempt']),
    state: row['state'] as ExportState,
    cursor: startTime === undefined || !id || !traceId ? undefined : { startTime, id, traceId },
    resource: row['resource'] as ExportResource,
    rows: Number(row['rows']),
    feedbackRows: Number(row['feedback_rows']),
    bytes: Number(row['bytes']),
    part: Number(row['part']),
    intent: intent ? (parseJson(intent) as ExportIntent) : undefined,
    error: row['error'] ?? undefined,
    files: Number(row['files']),
    isWhole: row['is_whole'] === 't',
    changedSince: row['changed_since'] ?? undefined,
    hasMark: row['has_mark'] === 't',
    updatedAt: new Date(Number((time(row['updated_at']) ?? 0n) / 1000n)),
  };
}

function parseFile(row: TextRow): ExportFile {
  const optional = { etag: row['etag'], sha256: row['sha256'] };
  return {
    resource: row['resource'] as ExportResource,
    part: Number(row['part']),
    key: row['key'] ?? '',
    rows: Number(row['rows']),
    bytes: Number(row['bytes']),
    ...(optional.etag ? { etag: optional.etag } : {}),
    ...(optional.sha256 ? { sha256: optional.sha256 } : {}),
    minStartTime: time(row['min_start_time']),
    maxStartTime: time(row['max_start_time']),
  };
}

/** The condition of every write of a worker; `$1` is the run, `$2` the attempt. */
const IN_FORCE = `run_uid = $1 AND attempt = $2 AND state = 'running'`;

const FINISHED = `SET state = 'completed', intent = NULL, updated_at = now()`;

/**
 * Progress of export runs. A worker claims once with its attempt number; each of its later writes carries that number
 * and throws `StaleAttemptError` when a newer attempt exists or the run is no longer `running`, so that a worker that
 * was paused or given up can change nothing.
 * The tables `export_progress` and `export_files`.
 */
export class ExportProgressTable {
  readonly #pool: Queryable;
  readonly #connections: Pool;
  readonly #askedBy: (tenantId: string | undefined) => Queryable;

  /**
   * @param askedBy the database for requests of a tenant; undefined: for the platform's programs
   * @param connections for transactions
   */
  constructor(askedBy: (tenantId: string | undefined) => Queryable, connections: Pool) {
    this.#askedBy = askedBy;
    this.#connections = connections;
    this.#pool = askedBy(undefined);
  }

  /**
   * Controller: has a run that was never claimed begin with the results of another run, ended and settled:
   * its objects, its cursor, and whether it was complete. Once for a run: repetitions, and runs that have
   * begun, change nothing.
   * @returns false when nothing is known of the other run
   */
  async adopt(runUid: string, fromUid: string): Promise<boolean> {
    const result = await this.#pool.query(
      `WITH former AS (SELECT * FROM export_progress WHERE run_uid = $2),
      made AS (
        INSERT INTO export_progress
          (run_uid, attempt, state, resource, cursor_start_time, cursor_id, cursor_trace_id, rows, feedback_rows, bytes,
            part, is_whole, read_from, read_in, changed_since, changed_since_in)
        SELECT $1, 0, 'running', resource, cursor_start_time, cursor_id, cursor_trace_id, rows, feedback_rows, bytes,
          part, is_whole OR state = 'completed', read_from, read_in, changed_since, changed_since_in
        FROM former ON CONFLICT (run_uid) DO NOTHING RETURNING run_uid),
      files AS (
        INSERT INTO export_files
          (run_uid, resource, part, key, rows, bytes, etag, sha256, min_start_time, max_start_time)
        SELECT made.run_uid, f.resource, f.part, f.key, f.rows, f.bytes, f.etag, f.sha256, f.min_start_time,
          f.max_start_time
        FROM export_files f, made WHERE f.run_uid = $2)
      SELECT 1 FROM former UNION ALL SELECT 1 FROM export_progress WHERE run_uid = $1`,
      [runUid, fromUid],
    );
    return (result.rowCount ?? 0) > 0;
  }

  /**
   * Controller: has a run that was never claimed export the rows alone that came or changed after another
   * run, of the same window, had begun. Once for a run: repetitions change nothing.
   * @returns false when it is unknown which rows the other run has read
   */
  async beginLate(runUid: string, ofUid: string): Promise<boolean> {
    const result = await this.#pool.query(
      `WITH former AS (SELECT read_from, read_in FROM export_progress WHERE run_uid = $2 AND ${HAS_MARK}),
      made AS (
        INSERT INTO export_progress AS p (run_uid, attempt, state, changed_since, changed_since_in)
        SELECT $1, 0, 'running', read_from, read_in FROM former
        ON CONFLICT (run_uid) DO UPDATE SET changed_since = excluded.changed_since,
          changed_since_in = excluded.changed_since_in
        WHERE p.changed_since IS NULL AND p.attempt = 0)
      SELECT 1 FROM former UNION ALL
      SELECT 1 FROM export_progress WHERE run_uid = $1 AND changed_since IS NOT NULL`,
      [runUid, ofUid],
    );
    return (result.rowCount ?? 0) > 0;
  }

  /**
   * Takes the run over for this attempt (1, 2, …), keeping cursor, part and intent of the former one.
   * @param exportUid uid of its export, whose cancellation shuts out the attempt
   * @throws StaleAttemptError when this or a newer attempt has claimed already, or the run is completed or cancelled, or
   *   its export was cancelled
   */
  async claim(runUid: string, attempt: number, exportUid?: string): Promise<ExportProgressRecord> {
    const result = await this.#pool.query<TextRow>({
      // the row of the fence is locked to the end of the claim: a cancellation waits for it, and then finds the run
      text: `WITH fence AS (
          INSERT INTO export_fences AS f (export_uid) SELECT $3 WHERE $3::text IS NOT NULL
          ON CONFLICT (export_uid) DO UPDATE SET updated_at = now() WHERE NOT f.is_cancelled RETURNING 1)
        INSERT INTO export_progress AS p (run_uid, attempt, state, read_from, read_in, export_uid)
        SELECT $1, $2, 'running', pg_current_snapshot(), ${CLUSTER}, $3
        WHERE $3::text IS NULL OR EXISTS (SELECT FROM fence)
        ON CONFLICT (run_uid) DO UPDATE SET attempt = $2, state = 'running', error = NULL, updated_at = now(),
          export_uid = excluded.export_uid,
          -- what an earlier attempt has read, or adopted of another run, is as old as that one
          read_from = CASE WHEN p.attempt = 0 AND p.part = 0 AND NOT p.is_whole THEN excluded.read_from
            ELSE p.read_from END,
          read_in = CASE WHEN p.attempt = 0 AND p.part = 0 AND NOT p.is_whole THEN excluded.read_in
            ELSE p.read_in END
        WHERE p.attempt < $2 AND p.state IN ('running', 'failed')
        RETURNING ${COLUMNS}`,
      values: [runUid, attempt, exportUid],
      types: textTypes,
    });
    const row = result.rows[0];
    if (!row) throw new StaleAttemptError(runUid, attempt);
    return parse(row);
  }

  /** Notes the object that is about to be written, or more about it (upload id, final size). */
  async recordIntent(runUid: string, attempt: number, intent: ExportIntent): Promise<void> {
    await this.#fenced(runUid, attempt, 'SET intent = $3, updated_at = now()', [JSON.stringify(intent)]);
  }

  /** Drops the intent of an upload that was aborted. */
  async clearIntent(runUid: string, attempt: number): Promise<void> {
    await this.#fenced(runUid, attempt, 'SET intent = NULL, updated_at = now()');
  }

  /** Continues with feedback, from its first row; parts keep their numbers. */
  async beginFeedback(runUid: string, attempt: number): Promise<void> {
    await this.#fenced(
      runUid,
      attempt,
      `SET resource = 'feedback', cursor_start_time = NULL, cursor_id = NULL, cursor_trace_id = NULL, updated_at = now()`,
    );
  }

  /** Adds a finished object, moves the cursor and clears the intent, in one statement. */
  async completePart(runUid: string, attempt: number, file: ExportFile, cursor: ExportCursor): Promise<void> {
    const isInForce = await this.#addFile(`attempt = $14 AND state = 'running'`, runUid, file, cursor, [
      attempt,
    ]);
    if (!isInForce) throw new StaleAttemptError(runUid, attempt);
  }

  /**
   * Controller: records that the objects which the last attempt of a cancelled run left in the store are
   * removed. Drops the intent; adds the object when it is finished in the store and may not be deleted.
   */
  async settle(
    runUid: string,
    left?: { readonly file: ExportFile; readonly cursor: ExportCursor },
  ): Promise<void> {
    if (left && (await this.#addFile(`state = 'cancelled'`, runUid, left.file, left.cursor))) return;
    await this.#pool.query(
      `UPDATE export_progress SET intent = NULL, updated_at = now() WHERE run_uid = $1 AND state = 'cancelled'`,
      [runUid],
    );
  }

  /**
   * Controller: a page of the cancelled runs whose last attempt may have left something in the store, by run uid.
   */
  async unsettled({ idleMs, limit, after }: UnsettledQuery): Promise<readonly ExportProgressRecord[]> {
    const result = await this.#pool.query<TextRow>({
      text: `SELECT ${COLUMNS} FROM export_progress p WHERE p.state = 'cancelled' AND p.intent IS NOT NULL
        AND p.updated_at <= now() - make_interval(secs => $1::double precision / 1000) AND p.run_uid > $3
        ORDER BY p.run_uid LIMIT $2`,
      values: [idleMs, limit, after],
      types: textTypes,
    });
    return result.rows.map(parse);
  }

  async finish(runUid: string, attempt: number): Promise<void> {
    await this.#fenced(runUid, attempt, FINISHED);
  }

  /**
   * Finishes the run, except the last run of an export that is not completed: before that is finished, its
   * worker writes the manifest of the whole export.
   * @param runs number of runs of the export
   * @returns false for the last run, which stays as it was
   */
  async finishUnlessLast(runUid: string, attempt: number, exportUid: string, runs: number): Promise<boolean> {
    return inTransaction(this.#connections, async (connection) => {
      // the lock makes the second of two runs that end at the same time count the first
      await connection.query('SELECT FROM export_fences WHERE export_uid = $1 FOR UPDATE', [exportUid]);
      const { rows } = await connection.query<{ others: number }>(
        `SELECT count(*)::integer AS others FROM export_progress
        WHERE export_uid = $1 AND state = 'completed' AND run_uid <> $2`,
        [exportUid, runUid],
      );
      if ((rows[0]?.others ?? 0) >= runs - 1) return false;
      await this.#fenced(runUid, attempt, FINISHED, [], connection);
      return true;
    });
  }

  /** Ends the attempt; a newer attempt can still claim. */
  async fail(runUid: string, attempt: number, error: string): Promise<void> {
    await this.#fenced(runUid, attempt, `SET state = 'failed', error = $3, updated_at = now()`, [
      error.replaceAll('\0', '\uFFFD'),
    ]);
  }

  /**
   * Controller: keeps a run that was never claimed from the worker that has it before it.
   * @returns false when the worker has claimed it, or it cannot be claimed any more
   */
  async hold(runUid: string): Promise<boolean> {
    const result = await this.#pool.query(
      `INSERT INTO export_progress AS p (run_uid, attempt, state) VALUES ($1, 0, 'held')
      ON CONFLICT (run_uid) DO UPDATE SET state = 'held', updated_at = now()
      WHERE p.attempt = 0 AND p.state IN ('running', 'held') RETURNING p.run_uid`,
      [runUid],
    );
    return (result.rowCount ?? 0) > 0;
  }

  /** Controller: has those of the runs that are held be claimed again. */
  async free(runUids: readonly string[]): Promise<void> {
    await this.#pool.query(
      `UPDATE export_progress SET state = 'running', updated_at = now() WHERE run_uid = ANY($1) AND state = 'held'`,
      [runUids],
    );
  }

  /** Controller: rejects every attempt permanently. */
  async cancel(runUid: string): Promise<void> {
    await this.#pool.query(
      `INSERT INTO export_progress AS p (run_uid, attempt, state) VALUES ($1, 0, 'cancelled')
      ON CONFLICT (run_uid) DO UPDATE SET state = 'cancelled', updated_at = now() WHERE p.state <> 'completed'`,
      [runUid],
    );
  }

  /** Controller: the run is being deleted. Rejects its attempts, and removes it from its export. */
  async leave(runUid: string): Promise<void> {
    await this.cancel(runUid);
    await this.#pool.query('UPDATE export_progress SET export_uid = NULL WHERE run_uid = $1', [runUid]);
  }

  /**
   * Rejects every attempt of every run of an export permanently, those that have claimed and those that will.
   * Once this is answered, no attempt adds a file or completes a run. Runs that are completed stay so.
   */
  async cancelExport(exportUid: string): Promise<void> {
    await this.#pool.query(
      `INSERT INTO export_fences (export_uid, is_cancelled) VALUES ($1, true)
      ON CONFLICT (export_uid) DO UPDATE SET is_cancelled = true, updated_at = now()`,
      [exportUid],
    );
    // a statement of its own, so that it sees the claims that the one before waited for
    await this.#pool.query(
      `UPDATE export_progress SET state = 'cancelled', updated_at = now()
      WHERE export_uid = $1 AND state IN ('running', 'failed', 'held')`,
      [exportUid],
    );
  }

  async find(runUid: string): Promise<ExportProgressRecord | undefined> {
    return (await this.list([runUid])).get(runUid);
  }

  /**
   * Summaries of many runs in one query, by run uid.
   * @param tenantId whose queue it uses; absent: that of the platform's programs
   */
  async list(
    runUids: readonly string[],
    tenantId?: string,
  ): Promise<ReadonlyMap<string, ExportProgressRecord>> {
    if (runUids.length === 0) return new Map();
    const result = await this.#askedBy(tenantId).query<TextRow>({
      text: `SELECT ${COLUMNS} FROM export_progress p WHERE p.run_uid = ANY($1)`,
      values: [runUids],
      types: textTypes,
    });
    return new Map(result.rows.map(parse).map((record) => [record.runUid, record]));
  }

  /** Finished objects in part order. */
  async files(runUid: string): Promise<readonly ExportFile[]> {
    return await this.#files('SELECT * FROM export_files WHERE run_uid = $1 ORDER BY part', runUid);
  }

  /** Finished objects of all runs of an export, by the times of their rows. */
  async filesOfExport(exportUid: string): Promise<readonly ExportFile[]> {
    return await this.#files(
      `SELECT f.* FROM export_files f JOIN export_progress p USING (run_uid) WHERE p.export_uid = $1
      ORDER BY f.min_start_time, f.key`,
      exportUid,
    );
  }

  async #files(text: string, uid: string): Promise<readonly ExportFile[]> {
    const result = await this.#pool.query<TextRow>({ text, values: [uid], types: textTypes });
    return result.rows.map(parseFile);
  }

  /**
   * Keys of finished objects of many runs in one query, by run uid, in part order. @param tenantId as of `list`
   */
  async keys(runUids: readonly string[], tenantId?: string): Promise<ReadonlyMap<string, readonly string[]>> {
    if (runUids.length === 0) return new Map();
    const result = await this.#askedBy(tenantId).query<{ run_uid: string; keys: string[] }>(
      `SELECT run_uid, array_agg(key ORDER BY part) AS keys FROM export_files WHERE run_uid = ANY($1) GROUP BY run_uid`,
      [runUids],
    );
    return new Map(result.rows.map((row) => [row.run_uid, row.keys]));
  }

  /** Removes the progress of these runs; that of archived ones stays. */
  async forget(runUids: readonly string[]): Promise<void> {
    if (runUids.length > 0)
      await this.#pool.query(
        `DELETE FROM export_progress p WHERE run_uid = ANY($1)
          AND NOT EXISTS (SELECT FROM archived_export_runs a WHERE a.uid = p.run_uid)`,
        [runUids],
      );
  }

  /**
   * Adds the object, moves the cursor and clears the intent of the run, in one statement.
   * @param condition under which the run may be written; `$14` and on are `more`
   * @returns whether it held
   */
  async #addFile(
    condition: string,
    runUid: string,
    file: ExportFile,
    cursor: ExportCursor,
    more: readonly unknown[] = [],
  ): Promise<boolean> {
    const iso = (micros: Instant | undefined) => (micros === undefined ? null : formatInstant(micros));
    const result = await this.#pool.query(
      `WITH moved AS (
        UPDATE export_progress SET cursor_start_time = $2, cursor_id = $3, cursor_trace_id = $4, 
          rows = rows + CASE WHEN $13::text = 'runs' THEN $5::bigint ELSE 0 END,
          feedback_rows = feedback_rows + CASE WHEN $13::text = 'feedback' THEN $5::bigint ELSE 0 END,
          bytes = bytes + $6::bigint, part = $7::integer + 1, intent = NULL, updated_at = now()
        WHERE run_uid = $1 AND part = $7 AND ${condition} RETURNING run_uid)
      INSERT INTO export_files (run_uid, part, key, rows, bytes, etag, sha256, min_start_time, max_start_time, resource)
      SELECT run_uid, $7, $8, $5, $6, $9, $10, $11, $12, $13 FROM moved`,
      [
        runUid,
        formatInstant(cursor.startTime),
        cursor.id,
        cursor.traceId,
        file.rows,
        file.bytes,
        file.part,
        file.key,
        file.etag,
        file.sha256,
        iso(file.minStartTime),
        iso(file.maxStartTime),
        file.resource ?? 'runs',
        ...more,
      ],
    );
    return result.rowCount === 1;
  }

  async #fenced(
    runUid: string,
    attempt: number,
    set: string,
    more: readonly unknown[] = [],
    connection: Queryable = this.#pool,
  ): Promise<void> {
    const result = await connection.query(`UPDATE export_progress ${set} WHERE ${IN_FORCE}`, [
      runUid,
      attempt,
      ...more,
    ]);
    if (result.rowCount !== 1) throw new StaleAttemptError(runUid, attempt);
  }
}

export type ExportProgress = Pick<ExportProgressTable, keyof ExportProgressTable>;
