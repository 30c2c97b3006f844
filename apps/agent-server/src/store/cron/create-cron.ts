import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText, jsonText } from '../json-text.js';
import { payloadText } from '../row/cron-payload.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
import { CRON_COLUMNS, wireCron, type CronRow, type WireCron } from '../row/cron-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';
import type { ChangedCron } from './change-cron.js';

export interface NewCron extends ChangedCron {
  readonly cronId: string;
  readonly assistantId: string;
  readonly threadId: string | undefined;
  readonly caller: JsonObject;
}

/** Limits of the number of crons. */
export interface CronLimits {
  readonly maxCrons: number;
  /** Limit per caller whom the agent authenticates. */
  readonly maxOfCaller: number;
}

interface Counted {
  readonly everyone: number;
  readonly own: number;
}

/**
 * @throws PublicError `conflict` at the limit of crons, `forbidden` for metadata outside of the scope,
 *   `too_large`
 */
export async function createCron(
  scope: Scope,
  sql: Sql,
  cron: NewCron,
  { maxCrons, maxOfCaller }: CronLimits,
): Promise<WireCron> {
  const { rows } = await sql.inScope<Counted & (CronRow | { readonly cron_id: null })>(scope, {
    text: `WITH counted AS (
      SELECT count(*)::int AS everyone, count(*) FILTER (WHERE user_id = $12::text)::int AS own FROM agentplane.crons),
    made AS (INSERT INTO agentplane.crons AS c (cron_id, assistant_id, thread_id, on_run_completed, schedule, timezone,
        end_time, enabled, payload, caller, user_id, metadata, next_run_date)
      SELECT $2::uuid, $3::uuid, $4::uuid, $5, $6, $7, $8::timestamptz, $9::boolean, $10::json, $11::json, $12::text,
        $13::jsonb, $14::timestamptz
      FROM counted WHERE ${visible('$13::jsonb')} AND everyone < $15::int AND own < $16::int
      RETURNING ${CRON_COLUMNS})
    SELECT counted.*, made.* FROM counted LEFT JOIN made ON true`,
    values: [
      cron.cronId,
      cron.assistantId,
      cron.threadId ?? null,
      cron.onRunCompleted,
      cron.schedule,
      cron.timezone ?? null,
      cron.endTime ?? null,
      cron.isEnabled,
      payloadText(cron.payload),
      jsonText(cron.caller),
      cron.userId ?? null,
      jsonbText(cron.metadata),
      cron.nextRunDate ?? null,
      maxCrons,
      cron.userId === undefined ? 1 : maxOfCaller,
    ],
  });
  const [found] = rows;
  if (found && found.cron_id !== null) {
    const { everyone: _everyone, own: _own, ...made } = found;
    return wireCron(made);
  }
  await requireAdmitted(scope, sql, cron.metadata, `Cron ${cron.cronId}`);
  if (found && found.everyone < maxCrons)
    throw new PublicError(
      'conflict',
      `This caller has ${found.own} crons, as many as one may; remove some, or set MAX_CRONS_PER_CALLER of the deployment`,
    );
  throw new PublicError(
    'conflict',
    `The deployment has ${maxCrons} crons, as many as it may; remove some, or set MAX_CRONS of the deployment`,
  );
}
