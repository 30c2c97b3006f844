import { EXIT } from '#lib/lifecycle';
import { RestClient } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { exportIdOf, scheduleAdvice } from './export-id.js';

/** A run of an export as the REST interface answers it, as far as its files go. */
interface Run {
  readonly id: string;
  readonly status: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly metadata: { readonly result: { readonly exported_files: readonly string[] } };
}

interface File {
  /** BUCKET/KEY. */
  readonly file: string;
  readonly run_id: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly status: string;
}

const SHAPE: Shape<File> = {
  nameOf: ({ file }) => file,
  columns: [
    { heading: 'FROM', cell: ({ start_time: at }) => at },
    { heading: 'TO', isWide: true, cell: ({ end_time: at }) => at },
    { heading: 'RUN', isWide: true, cell: ({ run_id: id }) => id },
    { heading: 'STATUS', isWide: true, cell: ({ status }) => status },
    { heading: 'FILE', cell: ({ file }) => file },
  ],
};

/** `agentplane export files NAME`: every finished file, by day. */
export async function listFiles(
  given: string,
  { output, ...flags }: TargetFlags & { readonly output: OutputFormat },
): Promise<number> {
  const target = resolveTarget(flags);
  const id = await exportIdOf(target, given);
  const rest = new RestClient(target.rest);
  const path = `/api/v1/bulk-exports/${id}`;
  const { interval_hours: interval } = await rest.request<{ readonly interval_hours: number | null }>(
    'GET',
    path,
  );
  if (interval !== null) throw new CommandError('failed', scheduleAdvice(given));
  const runs = await rest.request<readonly Run[]>('GET', `${path}/runs`);
  const files = runs
    .toSorted((a, b) => a.start_time.localeCompare(b.start_time))
    .flatMap(({ id: runId, status, start_time, end_time, metadata }): File[] =>
      metadata.result.exported_files.map((file) => ({ file, run_id: runId, start_time, end_time, status })),
    );
  if (files.length === 0 && output.kind === 'table') {
    process.stderr.write(`export ${given} has no finished file yet\n`);
    return EXIT.ok;
  }
  process.stdout.write(await renderItems(output, files, SHAPE));
  return EXIT.ok;
}
