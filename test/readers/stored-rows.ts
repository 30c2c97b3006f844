import pg from 'pg';
import { formatInstant, parseInstant } from '#lib/time';
import type { Row } from './run-lines.js';

const TIMES = ['start_time', 'end_time', 'first_token_time'] as const;
const COSTS = ['total_cost', 'prompt_cost', 'completion_cost'] as const;
const TOKENS = ['total_tokens', 'prompt_tokens', 'completion_tokens'] as const;
const TEXTS = [
  'id',
  'tenant_id',
  'session_id',
  'trace_id',
  'parent_run_id',
  'name',
  'run_type',
  'status',
  'reference_example_id',
  'trace_tier',
  'dotted_order',
  'error',
  'events',
  'extra',
  'inputs',
  'outputs',
] as const;
const JSONS: readonly string[] = ['events', 'extra', 'inputs', 'outputs'];
const LISTS = ['tags', 'parent_run_ids'] as const;

/** Rows of a project as the database has them, past every program of ours, in the order of exports. */
export async function storedRows(uri: string, projectId: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  try {
    const time = (name: string): string =>
      `to_char(r.${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ${name}`;
    const columns = [
      ...TIMES.map(time),
      ...[...COSTS, ...TOKENS].map((name) => `r.${name}::text`),
      ...TEXTS.filter((name) => name !== 'session_id').map((name) =>
        ['error', 'events', 'extra', 'inputs', 'outputs'].includes(name) ? `p.${name}` : `r.${name}::text`,
      ),
      'r.project_id::text AS session_id',
      'r.is_root',
      'r.tags',
      'r.parent_run_ids::text[]',
      'feedback_stats(r.tenant_id, r.project_id, r.id, r.trace_id)::text AS feedback_stats',
    ];
    const { rows } = await client.query<Record<string, unknown>>(
      `SELECT ${columns.join(', ')} FROM runs r
      JOIN run_payloads p USING (tenant_id, project_id, start_time, id, trace_id)
      WHERE r.project_id = $1 ORDER BY r.start_time, r.id, r.trace_id`,
      [projectId],
    );
    return rows;
  } finally {
    await client.end();
  }
}

/** How a reader shows values, where it is not exactly. */
export interface Shown {
  /** Times end with milliseconds and costs are numbers. */
  readonly isRounded: boolean;
  readonly listsAsText: boolean;
  /** The reader prints JSON anew. */
  readonly isReprinted: boolean;
}

/** The columns that are compared, each in one form whatever read them. */
export function compared(row: Row, { isRounded, listsAsText, isReprinted }: Shown): Row {
  const of = (names: readonly string[], show: (value: string) => unknown): [string, unknown][] =>
    names.map((name) => {
      const value = row[name];
      return [name, value === null || value === undefined ? null : show(String(value))];
    });
  return Object.fromEntries([
    ...of(TIMES, (value) => time(value, isRounded)),
    ...of(COSTS, (value) => (isRounded ? Number(value).toPrecision(12) : value)),
    ...of([...TOKENS, ...TEXTS], (value) => value),
    // the order of its members is nobody's
    ...of(['feedback_stats'], inOrder),
    ...(isReprinted ? of(JSONS, (value) => JSON.stringify(JSON.parse(value))) : []),
    ...LISTS.map((name) => [
      name,
      listsAsText && Array.isArray(row[name]) ? JSON.stringify(row[name]) : row[name],
    ]),
    ['is_root', row['is_root']],
  ]) as Row;
}

/** JSON with the members of its objects in order. */
function inOrder(text: string): string {
  return JSON.stringify(JSON.parse(text), (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

function time(value: string, isRounded: boolean): string {
  const instant = parseInstant(value.replace(' ', 'T').replace(/\+00$/, 'Z'), { zone: 'required' });
  if (instant === undefined) throw new Error(`no time: ${value}`);
  return isRounded ? formatInstant((instant / 1000n) * 1000n) : formatInstant(instant);
}
