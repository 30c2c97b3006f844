import { createHash } from 'node:crypto';
import { atOnce, type ByteRange, CLOSE_OBJECT, eachMember, JsonSyntaxError, skipSpace } from '#lib/json';
import { type Connection, CopyBinaryWriter, copyIn, type Queryable } from '#lib/postgres';
import { runKey } from '../run/run-keys.js';
import type { RunPlace } from '../run/stored-run.js';
import { parseOperation } from '../wire/parse-operation.js';
import type { ProjectReference } from '../project/project.js';
import type { RunOperation } from '../wire/run-operation.js';

/** An update whose create has not come yet. */
export interface WaitingPatch {
  readonly runId: string;
  readonly operation: RunOperation;
  /** Undefined when it names none. */
  readonly traceId?: string | undefined;
  /** The only project whose run it may change; undefined when the sender may change any. */
  readonly projectId: string | undefined;
}

function lockOf(text: string): string {
  return createHash('sha256').update(text).digest().readBigInt64BE(0).toString();
}

/** The lock of a tenant that batches share, and that a deletion by name takes alone while it records its intent. */
export function erasureLock(tenantId: string): string {
  return lockOf(`waiting ${tenantId}`);
}

/** The operation as one JSON object; members that stand twice count from the last, as everywhere. */
function joined(operation: RunOperation): Buffer {
  const { run, fields = {} } = operation;
  const open = run.subarray(0, run.lastIndexOf(CLOSE_OBJECT));
  const isEmpty = skipSpace(open, run.indexOf('{') + 1) >= open.length;
  const parts = Object.entries(fields).map(([name, value], index) => [
    Buffer.from(`${index === 0 && isEmpty ? '' : ','}"${name}":`),
    value,
  ]);
  return Buffer.concat([open, ...parts.flat(), Buffer.from('}')]);
}

/**
 * Limits of a tenant's waiting updates. Clients whose creates never come (sampled away, sent elsewhere) would
 * fill the disk.
 */
export interface WaitingRoom {
  readonly patches: number;
  readonly bytes: number;
  /** Bytes of the updates of one run: they are read at once when its create comes. */
  readonly bytesOfRun: number;
}

export const WAITING_ROOM: WaitingRoom = { patches: 10_000, bytes: 256 << 20, bytesOfRun: 64 << 20 };

/** Clients give up sending a create again long before. */
const LONGEST_WAIT = '1 day';
const DROPPED_AT_ONCE = 1000;
/** Updates with the run that they may change. */
const WITH_RUN = `FROM run_patches_waiting w JOIN run_keys k ON k.tenant_id = w.tenant_id AND k.id = w.run_id
  AND (w.trace_id IS NULL OR w.trace_id = k.trace_id) AND (w.project_id IS NULL OR w.project_id = k.project_id)`;
/** Copied and sent at once. */
const ADDED_AT_ONCE_BYTES = 8 << 20;
const COLUMNS = ['tenant_id', 'run_id', 'project_id', 'trace_id', 'run'] as const;

/**
 * Adds updates up to the limit. Writers of one tenant are serialised, so that the count is right; the caller
 * takes no lock after this one.
 * @returns those that were not taken
 */
export async function addWaiting<P extends WaitingPatch>(
  client: Connection,
  tenantId: string,
  patches: readonly P[],
  room: WaitingRoom,
): Promise<readonly P[]> {
  if (patches.length === 0) return [];
  await client.query('SELECT pg_advisory_xact_lock($1)', [lockOf(`waiting room ${tenantId}`)]);
  const found = await client.query<{ patches: string; bytes: string }>(
    'SELECT count(*) AS patches, coalesce(sum(octet_length(run)), 0) AS bytes FROM run_patches_waiting WHERE tenant_id = $1',
    [tenantId],
  );
  const ofRuns = new Map<string, number>();
  for (const { runId, bytes } of await bytesOfRuns(
    client,
    tenantId,
    new Set(patches.map((one) => one.runId)),
  ))
    ofRuns.set(runId, (ofRuns.get(runId) ?? 0) + bytes);
  let free = room.patches - Number(found.rows[0]?.patches);
  let freeBytes = room.bytes - Number(found.rows[0]?.bytes);
  const refused: P[] = [];
  let [writer, written] = [new CopyBinaryWriter(), 0];
  for (const patch of patches) {
    const run = joined(patch.operation);
    const ofRun = (ofRuns.get(patch.runId) ?? 0) + run.length;
    if (free < 1 || run.length > freeBytes || ofRun > room.bytesOfRun) {
      refused.push(patch);
      continue;
    }
    free--;
    freeBytes -= run.length;
    ofRuns.set(patch.runId, ofRun);
    writer
      .row(COLUMNS.length)
      .uuid(tenantId)
      .uuid(patch.runId)
      .uuid(patch.projectId)
      .uuid(patch.traceId)
      .bytes(run);
    written += run.length;
    if (written < ADDED_AT_ONCE_BYTES) continue;
    await copyIn(client, [{ table: 'run_patches_waiting', columns: COLUMNS, rows: writer }]);
    [writer, written] = [new CopyBinaryWriter(), 0];
  }
  if (written > 0) await copyIn(client, [{ table: 'run_patches_waiting', columns: COLUMNS, rows: writer }]);
  return refused;
}

/** An update that waited too long. */
export interface OverduePatch {
  readonly tenantId: string;
  readonly runId: string;
  /** Project that the update names, else that of its sender's key. */
  readonly project: ProjectReference | undefined;
}

/**
 * Drops updates that have waited too long, a few at a time, so that their locks are short.
 * @returns some of them; none when there are no more
 */
export async function dropOverdue(db: Queryable): Promise<readonly OverduePatch[]> {
  const { rows } = await db.query<{
    tenant_id: string;
    run_id: string;
    project_id: string | null;
    run: string;
  }>(
    // materialized, so that the limit holds for all of it
    `WITH overdue AS MATERIALIZED (
      SELECT seq FROM run_patches_waiting WHERE received_at < now() - $1::interval
      ORDER BY received_at LIMIT ${DROPPED_AT_ONCE} FOR UPDATE SKIP LOCKED
    )
    DELETE FROM run_patches_waiting WHERE seq IN (SELECT seq FROM overdue)
    RETURNING tenant_id, run_id, project_id, left(run, ${NAMED_WITHIN_CHARS}) AS run`,
    [LONGEST_WAIT],
  );
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    runId: row.run_id,
    project:
      row.project_id === null ? projectNamedIn(row.run_id, row.run) : { kind: 'id', id: row.project_id },
  }));
}

/** Clients write the project before payloads, and payloads may be megabytes. */
const NAMED_WITHIN_CHARS = 4096;
const PROJECT_MEMBERS: ReadonlySet<string> = new Set(['session_name', 'project_name', 'session_id']);

/** @param text the beginning of an update */
function projectNamedIn(runId: string, text: string): ProjectReference | undefined {
  const bytes = Buffer.from(text);
  const members = new Map<string, string>();
  try {
    const visit = (name: string, { start, end }: ByteRange): void => {
      if (PROJECT_MEMBERS.has(name)) members.set(name, bytes.toString('utf8', start, end));
    };
    atOnce(eachMember(bytes, 0, visit, { isLenient: true }));
  } catch (error) {
    // ends in the middle
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  // read as they were when they came
  const run = Buffer.from(`{${[...members].map(([name, value]) => `"${name}":${value}`).join()}}`);
  const parsed = atOnce(parseOperation('patch', { run, id: runId }));
  return 'change' in parsed ? parsed.change.project : undefined;
}

/** Runs that are stored though updates wait for them: the process that was to merge them ended before. */
export async function findMissed(
  db: Queryable,
): Promise<readonly { readonly tenantId: string; readonly runIds: readonly string[] }[]> {
  const { rows } = await db.query<{ tenant_id: string; run_ids: string[] }>(
    `SELECT m.tenant_id, array_agg(m.run_id::text) AS run_ids FROM (
      SELECT DISTINCT w.tenant_id, w.run_id ${WITH_RUN} LIMIT ${DROPPED_AT_ONCE}) m GROUP BY m.tenant_id`,
  );
  return rows.map((row) => ({ tenantId: row.tenant_id, runIds: row.run_ids }));
}

/** `id`, `trace_id` of runs of the tenant `$1` that are stored and have updates waiting for them, for a parameter that is a list of ids. */
export function metByUpdatesSql(runIds: string): string {
  return `SELECT DISTINCT k.id, k.trace_id ${WITH_RUN} WHERE w.tenant_id = $1 AND w.run_id = ANY (${runIds}::uuid[])`;
}

/** Number of waiting updates of all tenants; for metrics. */
export async function countWaiting(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM run_patches_waiting',
  );
  return rows[0]?.count ?? 0;
}

/** Bytes that wait for a run in a trace, and in none. */
export interface BytesOfRun {
  readonly runId: string;
  readonly traceId: string | undefined;
  readonly bytes: number;
}

/** `run_id`, `trace_id`, `bytes` of runs of the tenant `$1`, for a parameter that is a list of their ids; those with none are left out. */
export function bytesOfRunsSql(runIds: string): string {
  return `SELECT run_id, trace_id, sum(octet_length(run)) AS bytes FROM run_patches_waiting
    WHERE tenant_id = $1 AND run_id = ANY(${runIds}::uuid[]) GROUP BY run_id, trace_id`;
}

async function bytesOfRuns(
  client: Queryable,
  tenantId: string,
  runIds: ReadonlySet<string>,
): Promise<readonly BytesOfRun[]> {
  const { rows } = await client.query<{ run_id: string; trace_id: string | null; bytes: string }>(
    bytesOfRunsSql('$2'),
    [tenantId, [...runIds]],
  );
  return rows.map((row) => ({
    runId: row.run_id,
    traceId: row.trace_id ?? undefined,
    bytes: Number(row.bytes),
  }));
}

/** Run that an update waits for. */
type WaitingPlace = Pick<RunPlace, 'id' | 'traceId'>;

/** New runs that are stored together. */
export interface Portion<T> {
  readonly runs: readonly T[];
  /** Runs that updates wait for. */
  readonly awaited: readonly WaitingPlace[];
}

/**
 * Cuts a list of new runs into portions whose waiting updates may be held in memory together.
 * @param found updates that wait for them
 * @param maxBytes of a portion; a run with more is a portion of its own
 * @param ownShare share of a portion that a run takes by itself
 */
export function portionsByWaiting<T extends { readonly place: WaitingPlace }>(
  fresh: readonly T[],
  found: readonly BytesOfRun[],
  { maxBytes, ownShare }: { readonly maxBytes: number; readonly ownShare: (one: T) => number },
): readonly Portion<T>[] {
  const bytes = new Map(
    found.map((one) => [
      one.traceId === undefined ? one.runId : runKey({ id: one.runId, traceId: one.traceId }),
      one.bytes,
    ]),
  );
  /** The first run of an id takes those that name no trace. */
  const take = (key: string): number => {
    const waiting = bytes.get(key) ?? 0;
    bytes.delete(key);
    return waiting;
  };
  const portions: { readonly runs: T[]; readonly awaited: WaitingPlace[] }[] = [];
  let held = 0;
  for (const one of fresh) {
    const waiting = take(one.place.id) + take(runKey(one.place));
    const own = waiting + maxBytes * ownShare(one);
    if (portions.length === 0 || (held > 0 && held + own > maxBytes)) {
      portions.push({ runs: [], awaited: [] });
      held = 0;
    }
    portions.at(-1)?.runs.push(one);
    if (waiting > 0) portions.at(-1)?.awaited.push(one.place);
    held += own;
  }
  return portions;
}

/** An update as it was found waiting. */
export interface FoundPatch extends WaitingPatch {
  readonly seq: string;
}

/** The updates that may change this run, oldest first; no other transaction takes them. Its key is locked by the caller. */
export function findWaitingAt(client: Connection, place: RunPlace): Promise<readonly FoundPatch[]> {
  return findWaiting(client, place.tenantId, [place], place.projectId);
}

/**
 * The updates that wait for these runs, oldest first; they are locked until the transaction ends. Updates of
 * other traces are not read: one id may occur in any number of traces.
 * @param projectId leaves out those that may not change this project
 */
export async function findWaiting(
  client: Connection,
  tenantId: string,
  places: readonly WaitingPlace[],
  projectId?: string,
): Promise<readonly FoundPatch[]> {
  if (places.length === 0) return [];
  const { rows } = await client.query<{
    run_id: string;
    trace_id: string | null;
    project_id: string | null;
    run: string;
    seq: string;
  }>(
    `SELECT seq, run_id, trace_id, project_id, run FROM run_patches_waiting
    WHERE tenant_id = $1 AND run_id = ANY($2::uuid[])
      AND (trace_id IS NULL OR (run_id, trace_id) IN (SELECT * FROM unnest($3::uuid[], $4::uuid[])))
      AND ($5::uuid IS NULL OR project_id IS NULL OR project_id = $5)
    ORDER BY seq FOR UPDATE`,
    [
      tenantId,
      [...new Set(places.map(({ id }) => id))],
      places.map(({ id }) => id),
      places.map(({ traceId }) => traceId),
      projectId ?? null,
    ],
  );
  return rows.map((row) => ({
    runId: row.run_id,
    operation: { run: Buffer.from(row.run), id: row.run_id },
    traceId: row.trace_id ?? undefined,
    projectId: row.project_id ?? undefined,
    seq: row.seq,
  }));
}

/** They wait no longer. */
export async function removeWaiting(
  client: Connection,
  tenantId: string,
  patches: readonly FoundPatch[],
): Promise<void> {
  if (patches.length === 0) return;
  await client.query('DELETE FROM run_patches_waiting WHERE tenant_id = $1 AND seq = ANY($2::bigint[])', [
    tenantId,
    patches.map(({ seq }) => seq),
  ]);
}
