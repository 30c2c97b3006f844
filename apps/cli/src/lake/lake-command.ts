import { RestClient, timeText } from '#lib/rest-client';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import {
  isDocument,
  type OutputFormat,
  renderDocument,
  renderItems,
  type Shape,
} from '../output/print-items.js';
import { projectIdOf, projectNames } from '../rest/find-id.js';

/** A day as the REST interface answers it. */
interface LakeDay {
  readonly session_id: string;
  readonly day: string;
  readonly postgres_rows: number;
  readonly postgres_bytes_estimate: number;
  readonly sealed_rows: number;
  readonly sealed_bytes: number;
  readonly generation: number;
  readonly gone_rows: number;
  readonly sealing: boolean;
  readonly erase_before: string | null;
  readonly failed_attempts: number;
  readonly error: string | null;
  readonly next_attempt_at: string | null;
}

/** The table over the sealed days of a project. */
interface LakeTable {
  readonly session_id: string;
  readonly version: number;
  readonly published_at: string | null;
  readonly error: string | null;
}

interface LakePage {
  readonly enabled: boolean;
  readonly reason: string | null;
  readonly days: readonly LakeDay[];
  readonly tables: readonly LakeTable[];
  readonly next_cursor: string | null;
}

const MEGABYTE = 1e6;

function megabytes(bytes: number): string {
  return bytes === 0 ? '0' : (bytes / MEGABYTE).toFixed(bytes < MEGABYTE ? 3 : 1);
}

/** State of a day in one word. */
function stateOf({ sealing, error, generation, postgres_rows: rows }: LakeDay): string {
  if (sealing) return 'sealing';
  if (error !== null) return 'failed';
  if (generation === 0) return 'waiting';
  return rows === 0 ? 'sealed' : 'changed';
}

/** Names of projects, and their tables, by id. */
interface Projects {
  readonly names: ReadonlyMap<string, string>;
  readonly tables: ReadonlyMap<string, LakeTable>;
}

const shapeOf = ({ names, tables }: Projects): Shape<LakeDay> => ({
  nameOf: ({ day, session_id: project }) => `${day}/${project}`,
  columns: [
    { heading: 'DAY', cell: ({ day }) => day },
    { heading: 'PROJECT', cell: ({ session_id: id }) => names.get(id) ?? id },
    { heading: 'STATE', cell: stateOf },
    { heading: 'ROWS', cell: (day) => String(day.postgres_rows) },
    { heading: 'MB (ESTIMATE)', cell: (day) => megabytes(day.postgres_bytes_estimate) },
    { heading: 'SEALED ROWS', cell: (day) => String(day.sealed_rows) },
    { heading: 'SEALED MB', cell: (day) => megabytes(day.sealed_bytes) },
    { heading: 'GENERATION', isWide: true, cell: ({ generation }) => String(generation) },
    { heading: 'GONE', isSpare: true, cell: (day) => String(day.gone_rows) },
    {
      heading: 'ERASED BEFORE',
      isWide: true,
      cell: ({ erase_before: at }) => (at === null ? '' : timeText(at)),
    },
    { heading: 'FAILED', isWide: true, cell: (day) => String(day.failed_attempts) },
    { heading: 'NEXT', isSpare: true, cell: ({ next_attempt_at: at }) => (at === null ? '' : timeText(at)) },
    { heading: 'TABLE', isSpare: true, cell: (day) => String(tables.get(day.session_id)?.version ?? '') },
    {
      heading: 'PUBLISHED',
      isWide: true,
      cell: (day) => {
        const at = tables.get(day.session_id)?.published_at ?? null;
        return at === null ? '' : timeText(at);
      },
    },
    {
      heading: 'ERROR',
      isCut: true,
      cell: (day) => day.error ?? tables.get(day.session_id)?.error ?? '',
    },
  ],
});

const PAGE = 100;

/** `agentplane lake status`. */
export async function printLake(
  flags: TargetFlags & {
    readonly project: string | undefined;
    readonly limit: number;
    readonly output: OutputFormat;
  },
): Promise<void> {
  const { project, limit, output } = flags;
  const rest = new RestClient(resolveTarget(flags).rest);
  const query = new URLSearchParams();
  if (project !== undefined) query.set('session_id', await projectIdOf(rest, project));
  const days: LakeDay[] = [];
  const tables = new Map<string, LakeTable>();
  let page: LakePage;
  do {
    query.set('limit', String(Math.min(PAGE, limit - days.length)));
    page = await rest.request<LakePage>('GET', `/api/v1/lake?${query}`);
    days.push(...page.days);
    for (const table of page.tables) tables.set(table.session_id, table);
    query.set('cursor', page.next_cursor ?? '');
  } while (page.next_cursor !== null && days.length < limit);
  const { enabled, reason } = page;
  if (isDocument(output)) {
    const found = { enabled, reason, days, tables: [...tables.values()] };
    process.stdout.write(await renderDocument(output, found));
    return;
  }
  if (reason !== null) process.stderr.write(`Days are not sealed: ${reason}.\n`);
  process.stdout.write(await renderItems(output, days, shapeOf({ names: await projectNames(rest), tables })));
}
