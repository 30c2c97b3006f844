import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { jsonbText, jsonText } from '../json-text.js';
import { requireAdmitted } from '../metadata/require-admitted.js';
import { CRON_COLUMNS, wireCron, type CronRow, type WireCron } from '../row/cron-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

export interface NewCron {
  readonly cronId: string;
  readonly assistantId: string;
  readonly threadId: string | undefined;
  readonly onRunCompleted: 'delete' | 'keep';
  readonly schedule: string;
  readonly timezone: string | undefined;
  readonly endTime: Date | undefined;
  readonly isEnabled: boolean;
  readonly payload: JsonObject;
  readonly caller: JsonObject;
  readonly userId: string | undefined;
  readonly metadata: JsonObject;
  readonly nextRunDate: Date | undefined;
}

/** @throws PublicError `conflict` when there are as many as there may be, `forbidden` for metadata outside of the scope */
export async function createCron(scope: Scope, sql: Sql, cron: NewCron, maxCrons: number): Promise<WireCron> {
  const { rows } = await sql.inScope<CronRow>(scope, {
    text: `INSERT INTO agentplane.crons AS c (cron_id, assistant_id, thread_id, on_run_completed, schedule, timezone,
        end_time, enabled, payload, caller, user_id, metadata, next_run_date)
      SELECT $2::uuid, $3::uuid, $4::uuid, $5, $6, $7, $8::timestamptz, $9::boolean, $10::json, $11::json, $12,
        $13::jsonb, $14::timestamptz
      WHERE ${visible('$13::jsonb')} AND (SELECT count(*) FROM agentplane.crons) < $15::int
      RETURNING ${CRON_COLUMNS}`,
    values: [
      cron.cronId,
      cron.assistantId,
      cron.threadId ?? null,
      cron.onRunCompleted,
      cron.schedule,
      cron.timezone ?? null,
      cron.endTime ?? null,
      cron.isEnabled,
      jsonText(cron.payload),
      jsonText(cron.caller),
      cron.userId ?? null,
      jsonbText(cron.metadata),
      cron.nextRunDate ?? null,
      maxCrons,
    ],
  });
  if (rows[0]) return wireCron(rows[0]);
  await requireAdmitted(scope, sql, cron.metadata, `Cron ${cron.cronId}`);
  throw new PublicError(
    'conflict',
    `The deployment has ${maxCrons} crons, as many as it may; remove some, or set MAX_CRONS of the deployment`,
  );
}
