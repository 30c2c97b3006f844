import { createHash } from 'node:crypto';
import type pg from 'pg';
import { skipSpace } from './json-scanner.js';
import type { RunOperation } from './run-operation.js';

/** An update whose create has not come yet. */
export interface WaitingPatch {
  readonly runId: string;
  readonly operation: RunOperation;
}

/**
 * The lock of a tenant that keeps "the create looks for waiting updates" and "the update looks for its create" from
 * passing one another unseen: creates share it, an update that is about to wait takes it alone.
 */
export function waitingLock(tenantId: string): string {
  return createHash('sha256').update(`waiting ${tenantId}`).digest().readBigInt64BE(0).toString();
}

const CLOSE_OBJECT = '}'.charCodeAt(0);

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

export async function addWaiting(
  client: pg.ClientBase,
  tenantId: string,
  patches: readonly WaitingPatch[],
): Promise<void> {
  for (const { runId, operation } of patches)
    await client.query('INSERT INTO run_patches_waiting (tenant_id, run_id, run) VALUES ($1, $2, $3)', [
      tenantId,
      runId,
      joined(operation),
    ]);
}

/** Takes the updates that wait for these runs, oldest first. */
export async function takeWaiting(
  client: pg.ClientBase,
  tenantId: string,
  runIds: readonly string[],
): Promise<readonly WaitingPatch[]> {
  if (runIds.length === 0) return [];
  const result = await client.query<{ run_id: string; run: string; seq: string }>(
    'DELETE FROM run_patches_waiting WHERE tenant_id = $1 AND run_id = ANY($2::uuid[]) RETURNING seq, run_id, run',
    [tenantId, runIds],
  );
  return result.rows
    .sort((a, b) => Number(BigInt(a.seq) - BigInt(b.seq)))
    .map((row) => ({ runId: row.run_id, operation: { run: Buffer.from(row.run), id: row.run_id } }));
}
