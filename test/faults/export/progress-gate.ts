import pg from 'pg';
import { waitFor } from '#lib/testing';
import { isAt, type KillPoint, type ProgressWrite, type Step } from './kill-point.js';

const LOCK = 4711;

/**
 * Says of each write of `export_progress` what it is, keeps it in `progress_writes`, and holds the one that
 * `held_write` names until the lock is free.
 */
const GATE = `
CREATE TABLE progress_writes (number bigint GENERATED ALWAYS AS IDENTITY, step text, file integer);
CREATE TABLE held_write (step text, file integer);
CREATE FUNCTION hold_write() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  said text := CASE
    WHEN TG_OP = 'INSERT' OR NEW.attempt <> OLD.attempt THEN 'claim'
    WHEN NEW.state = 'completed' THEN 'finish'
    WHEN NEW.part > OLD.part THEN 'add file'
    WHEN NEW.intent IS NULL AND OLD.intent IS NOT NULL THEN 'clear intent'
    WHEN NEW.intent IS NOT NULL AND OLD.intent IS NULL THEN 'name part'
    WHEN NEW.intent ? 'upTo' AND NOT OLD.intent ? 'upTo' THEN 'name rows'
    WHEN NEW.intent ? 'uploadId' AND NOT OLD.intent ? 'uploadId' THEN 'name upload'
    ELSE 'heartbeat' END;
  at integer := CASE WHEN said IN ('claim', 'finish', 'heartbeat') THEN 0 ELSE OLD.part + 1 END;
BEGIN
  INSERT INTO progress_writes (step, file) VALUES (said, at);
  IF EXISTS (SELECT FROM held_write WHERE step = said AND file = at) THEN
    PERFORM pg_advisory_xact_lock(${LOCK});
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER hold_write BEFORE INSERT OR UPDATE ON export_progress FOR EACH ROW EXECUTE FUNCTION hold_write();
SELECT pg_advisory_lock(${LOCK})`;

/** Stands before the writes of progress of one database, and lets all but a chosen one pass. */
export class ProgressGate {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** @param uri of a database with a trace store */
  static async start(uri: string): Promise<ProgressGate> {
    const client = new pg.Client({ connectionString: uri });
    // the database is dropped before the connection is closed
    client.on('error', () => undefined);
    await client.connect();
    await client.query(GATE);
    return new ProgressGate(client);
  }

  async stop(): Promise<void> {
    await this.#client.end();
  }

  /** Forgets the writes so far, and holds the next that is at the point. */
  async hold(point: KillPoint | undefined): Promise<void> {
    await this.#client.query('DELETE FROM progress_writes; DELETE FROM held_write');
    if (point !== undefined)
      await this.#client.query('INSERT INTO held_write VALUES ($1, $2)', [point.step, point.file]);
  }

  /** Writes since `hold`, in order; those that were undone and heartbeats are left out. */
  async writes(): Promise<readonly Step[]> {
    const { rows } = await this.#client.query<{ step: ProgressWrite; file: number }>(
      "SELECT step, file FROM progress_writes WHERE step <> 'heartbeat' ORDER BY number",
    );
    const steps = rows.map((row): Step => ({ side: 'progress', ...row }));
    // a claim of a run that has a row begins as an INSERT
    return steps.filter((step, n) => !isAt(step, steps[n - 1] ?? { ...step, file: -1 }));
  }

  /**
   * Waits until the held write is reached.
   * @param isOver whether nobody writes any more
   * @returns the backend that writes; undefined where it was over before
   */
  async reached(isOver: () => boolean): Promise<number | undefined> {
    const found = await waitFor(async () => (isOver() ? 'over' : await this.#waiting()), {
      timeoutMs: 60_000,
      intervalMs: 10,
      what: 'the write that is held',
    });
    return found === 'over' ? undefined : found;
  }

  /** Ends the held write, whose worker is dead. The backend does what it was asked for, unless it is ended itself. */
  async release(backend: number, isDone: boolean): Promise<void> {
    if (!isDone) await this.#client.query('SELECT pg_terminate_backend($1)', [backend]);
    await this.#client.query(`SELECT pg_advisory_unlock(${LOCK})`);
    await waitFor(async () => (await this.#waiting()) === undefined);
    await this.#client.query(`SELECT pg_advisory_lock(${LOCK})`);
  }

  /** Ids of the runs that a project has, in the order of an export. */
  async idsOf(projectId: string): Promise<readonly string[]> {
    const { rows } = await this.#client.query<{ id: string }>(
      'SELECT id FROM runs WHERE project_id = $1 ORDER BY start_time, id, trace_id',
      [projectId],
    );
    return rows.map(({ id }) => id);
  }

  /** The backend that waits with its write. */
  async #waiting(): Promise<number | undefined> {
    const { rows } = await this.#client.query<{ pid: number }>(
      "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted",
      [LOCK],
    );
    return rows[0]?.pid;
  }
}
