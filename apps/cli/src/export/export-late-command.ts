import { renderTable } from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import { RestClient } from '#lib/rest-client';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { exportIdOf } from './export-id.js';

export interface ExportLateFlags extends TargetFlags {
  /** True when an export of the late runs is to be made. */
  readonly export: boolean;
}

interface LateDay {
  readonly start_time: string;
  readonly late_runs: number | null;
  readonly first_start_time: string | null;
  readonly last_start_time: string | null;
  readonly unknown: string | null;
}

interface LateRuns {
  readonly late_runs: number;
  readonly exact: boolean;
  readonly days: readonly LateDay[];
}

/** `agentplane export late NAME`. Uses REST, which has the exports of the archive too. */
export async function exportLate(given: string, flags: ExportLateFlags): Promise<number> {
  const target = resolveTarget(flags);
  const id = await exportIdOf(target, given);
  const rest = new RestClient(target.rest);
  const path = `/api/v1/bulk-exports/${id}/late`;
  const found = await rest.request<LateRuns>('GET', path);
  process.stdout.write(renderLate(given, found));
  if (!flags.export || (found.exact && found.late_runs === 0)) return EXIT.ok;
  const made = await rest.request<{ readonly id: string }>('POST', path);
  process.stdout.write(`export ${made.id} exports the late runs of ${given}\n`);
  return EXIT.ok;
}

/** Days without late runs are left out. */
function renderLate(given: string, { late_runs, exact, days }: LateRuns): string {
  const shown = days.filter(({ late_runs: count }) => count !== 0);
  const sum = `${exact ? '' : 'at least '}${late_runs} late ${late_runs === 1 ? 'run' : 'runs'} of export ${given}\n`;
  if (shown.length === 0) return sum;
  const rows = shown.map((day) => [
    day.start_time.slice(0, 10),
    day.late_runs === null ? `unknown: ${day.unknown?.replaceAll('_', ' ') ?? ''}` : String(day.late_runs),
    day.first_start_time ?? '',
    day.last_start_time ?? '',
  ]);
  return `${sum}${renderTable(['DAY', 'LATE RUNS', 'FIRST', 'LAST'], rows)}`;
}
