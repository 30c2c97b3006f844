import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { instantOf } from '#lib/time';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import { RunRemover } from '../run/remove-runs.js';
import { TraceEraser } from './trace-eraser.js';

const TENANT = randomUUID();
const TABLES = ['run_keys', 'runs', 'run_payloads', 'run_patches_waiting'];

describe('erasures', () => {
  const database = testTraceStore();

  const bytes = (value: object) => ({ run: Buffer.from(JSON.stringify(value)) });
  const runOf = (trace: string, more: object = {}) => ({
    id: trace,
    trace_id: trace,
    name: 'n',
    run_type: 'chain',
    session_name: 'p',
    start_time: '2026-11-20T10:00:00Z',
    inputs: { secret: 'of alice' },
    ...more,
  });
  const childOf = (trace: string, more: object = {}) =>
    runOf(trace, { id: randomUUID(), parent_run_id: trace, start_time: '2026-11-21T10:00:00Z', ...more });
  const inThread = (thread: string) => ({ extra: { metadata: { thread_id: thread } } });
  const post = (...runs: object[]) => database.store.ingest(TENANT, { post: runs.map(bytes), patch: [] });
  const patch = (run: object, only?: string) =>
    database.store.ingest(TENANT, { post: [], patch: [bytes(run)] }, only);
  const project = async (name = 'p') => (await database.store.projects.ensure(TENANT, name)).id;
  const erase = async (traceIds: string[], threadIds: string[] = [], beganBy?: Date) =>
    database.store.erasures.erase(TENANT, await project(), {
      traceIds,
      threadIds,
      beganBy: beganBy && instantOf(beganBy),
    });
  /** Rows of the trace, by table. */
  const rowsOf = async (trace: string): Promise<number[]> => {
    const counts = TABLES.map((table) => `(SELECT count(*)::int FROM ${table} WHERE trace_id = $1)`);
    const { rows } = await database.client.query<{ counts: number[] }>(
      `SELECT ARRAY[${counts.join()}] AS counts`,
      [trace],
    );
    return rows[0]?.counts ?? [];
  };

  it('deletes a trace with its runs of all days, and no other', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    await post(runOf(one), childOf(one), childOf(one), runOf(other), childOf(other));
    expect(await erase([one.toUpperCase()])).toBe(3);
    expect(await rowsOf(one)).toEqual([0, 0, 0, 0]);
    expect(await rowsOf(other)).toEqual([2, 2, 2, 0]);
    expect(await erase([one])).toBe(0);
  });

  it('stores nothing of a deleted trace that arrives later, and says how much that was', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    await erase([one]);
    expect(await post(runOf(one), childOf(one), runOf(other))).toMatchObject({
      accepted: 1,
      erased: 2,
      refused: [],
    });
    const late = { id: randomUUID(), trace_id: one, outputs: { secret: 1 } };
    expect(await patch(late, 'p')).toMatchObject({ accepted: 0, erased: 1, refused: [] });
    expect(await rowsOf(one)).toEqual([0, 0, 0, 0]);
    expect(await rowsOf(other)).toEqual([1, 1, 1, 0]);
  });

  it('deletes updates of the trace that wait for their runs', async () => {
    const trace = randomUUID();
    await patch({ id: randomUUID(), trace_id: trace, outputs: {} }, 'p');
    expect(await rowsOf(trace)).toEqual([0, 0, 0, 1]);
    await erase([trace]);
    expect(await rowsOf(trace)).toEqual([0, 0, 0, 0]);
  });

  it('deletes the traces of a thread that began before, with children that name no thread', async () => {
    const [thread, old, later, stranger] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    await post(
      ...[runOf(old, inThread(thread)), childOf(old), runOf(stranger, inThread(randomUUID()))],
      runOf(later, { ...inThread(thread), start_time: '2026-11-20T12:00:00Z' }),
    );
    expect(await erase([], [thread], new Date('2026-11-20T11:00:00Z'))).toBe(2);
    expect(await Promise.all([old, later, stranger].map(rowsOf))).toEqual([
      [0, 0, 0, 0],
      [1, 1, 1, 0],
      [1, 1, 1, 0],
    ]);
    const late = randomUUID();
    expect(await post(childOf(old), runOf(late, inThread(thread)))).toMatchObject({ accepted: 0, erased: 2 });
    const anew = runOf(randomUUID(), { ...inThread(thread), start_time: '2026-11-20T12:00:01Z' });
    expect(await post(anew)).toMatchObject({ accepted: 1, erased: 0 });
  });

  it('leaves a trace of the same id in another project, and takes more of it', async () => {
    const trace = randomUUID();
    const elsewhere = { session_name: 'another' };
    await post(runOf(trace, elsewhere));
    expect(await erase([trace])).toBe(0);
    await post(childOf(trace, elsewhere));
    expect(await rowsOf(trace)).toEqual([2, 2, 2, 0]);
  });

  it('loses no deletion to batches that arrive at the same moment', async () => {
    const traces = Array.from({ length: 40 }, () => randomUUID());
    const work = traces.flatMap((trace) => [
      post(runOf(trace), childOf(trace)),
      erase([trace]),
      post(childOf(trace)),
      patch({ id: trace, trace_id: trace, outputs: {} }, 'p'),
    ]);
    await Promise.all(work);
    for (const trace of traces) expect(await rowsOf(trace)).toEqual([0, 0, 0, 0]);
  });

  it('completes what a process left undone, and forgets it a week later', async () => {
    const trace = randomUUID();
    await post(runOf(trace), childOf(trace));
    await database.client.query(
      `INSERT INTO trace_erasures (tenant_id, kind, id, project_id, erased_at)
      VALUES ($1, 'trace', $2, $3, now() - interval '8 days')`,
      [TENANT, trace, await project()],
    );
    await database.store.tidy();
    expect(await rowsOf(trace)).toEqual([0, 0, 0, 0]);
    const { rows } = await database.client.query('SELECT FROM trace_erasures WHERE id = $1', [trace]);
    expect(rows).toEqual([]);
  });

  it('completes the others, and forgets, when one deletion of another tenant always fails', async () => {
    const [trace, old] = [randomUUID(), randomUUID()];
    await post(runOf(trace));
    // an invalid trace id
    await database.client.query(
      `INSERT INTO trace_erasures (tenant_id, kind, id, project_id, erased_at, is_done) VALUES
        ($1, 'trace', 'none', $3, now() - interval '9 days', false),
        ($2, 'trace', $4, $3, now() - interval '1 hour', false),
        ($2, 'trace', $5, $3, now() - interval '8 days', true)`,
      [randomUUID(), TENANT, await project(), trace, old],
    );
    await database.store.tidy();
    expect(await rowsOf(trace)).toEqual([0, 0, 0, 0]);
    const { rows } = await database.client.query(
      `SELECT id, is_done, claimed_until > now() + interval '4 minutes' AS is_postponed
      FROM trace_erasures WHERE id = ANY ($1)`,
      [['none', old]],
    );
    expect(rows).toEqual([{ id: 'none', is_done: false, is_postponed: true }]);
  });

  it('takes turns between tenants when it completes what others left', async () => {
    const [large, small, other] = [randomUUID(), randomUUID(), randomUUID()];
    // more than a turn removes, and begun before that of the other tenant
    await database.client.query(
      `INSERT INTO run_keys (tenant_id, id, trace_id, start_time, project_id)
      SELECT $1, gen_random_uuid(), $2, '2026-11-20T10:00:00Z', $3 FROM generate_series(1, 6000)`,
      [TENANT, large, await project()],
    );
    await database.client.query(
      `INSERT INTO trace_erasures (tenant_id, kind, id, project_id, erased_at) VALUES
        ($1, 'trace', $3, $5, now() - interval '2 hours'), ($2, 'trace', $4, $5, now() - interval '1 hour')`,
      [TENANT, other, large, small, await project()],
    );
    await database.client.query(
      `CREATE TABLE settled (place serial, id text);
      CREATE FUNCTION note_settled() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN INSERT INTO settled (id) VALUES (NEW.id); RETURN NEW; END';
      CREATE TRIGGER note_settled AFTER UPDATE OF is_done ON trace_erasures
        FOR EACH ROW EXECUTE FUNCTION note_settled()`,
    );
    await database.store.tidy();
    const { rows } = await database.client.query<{ id: string }>('SELECT id FROM settled ORDER BY place');
    await database.client.query('DROP FUNCTION note_settled CASCADE');
    expect(rows.map(({ id }) => id)).toEqual([small, large]);
    expect(await rowsOf(large)).toEqual([0, 0, 0, 0]);
  });

  it('begins anew with what came back of a deletion that it was in the middle of', async () => {
    const [tenant, trace, projectId] = [randomUUID(), randomUUID(), await project()];
    const log = createLogger('test', 'silent');
    const pool = openPool({ uri: database.uri, applicationName: 'erasing', log });
    const keys = (count: number) =>
      pool.query(
        `INSERT INTO run_keys (tenant_id, id, trace_id, start_time, project_id)
        SELECT $1, gen_random_uuid(), $2, '2026-11-20T10:00:00Z', $3 FROM generate_series(1, ${count})`,
        [tenant, trace, projectId],
      );
    await keys(4_500);
    await pool.query(
      `INSERT INTO trace_erasures (tenant_id, kind, id, project_id, erased_at)
      VALUES ($1, 'trace', $2, $3, now() - interval '1 hour')`,
      [tenant, trace, projectId],
    );
    const remover = new RunRemover(pool, { remove: async () => undefined });
    const eraser = new TraceEraser(pool, remover, log);
    await eraser.turn(tenant);
    expect((await rowsOf(trace))[0]).toBe(0);
    // another process completes it, and the trace is sent and deleted again
    await keys(1_500);
    await eraser.turn(tenant);
    expect((await rowsOf(trace))[0]).toBe(0);
    await pool.end();
  });

  it('completes deletions in a tidying whose earlier steps fail', async () => {
    const trace = randomUUID();
    await post(runOf(trace));
    await database.client.query(
      `INSERT INTO trace_erasures (tenant_id, kind, id, project_id, erased_at)
      VALUES ($1, 'trace', $2, $3, now() - interval '1 hour')`,
      [TENANT, trace, await project()],
    );
    // an update that waited too long and cannot be taken away
    await database.client.query(
      `INSERT INTO run_patches_waiting (tenant_id, run_id, run, received_at)
      VALUES (gen_random_uuid(), gen_random_uuid(), '{}', now() - interval '25 hours')`,
    );
    await database.client.query(
      `CREATE FUNCTION refuse_all() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
      CREATE TRIGGER refuse_all BEFORE DELETE ON run_patches_waiting
        FOR EACH ROW WHEN (OLD.project_id IS NULL) EXECUTE FUNCTION refuse_all()`,
    );
    const tidying = database.store.tidy();
    await expect(tidying).rejects.toThrow('refused');
    await database.client.query('DROP FUNCTION refuse_all CASCADE');
    expect(await rowsOf(trace)).toEqual([0, 0, 0, 0]);
  });
});
