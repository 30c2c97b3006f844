import { type Command, command, defaulted, optional, parsed, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { timeoutOption } from '../deploy/deploy-rows.js';
import { NAMESPACE_OPTION } from '../objects/object-rows.js';
import { oneOf } from '../one-of.js';

const FORMATS = ['v1', 'v2_beta'] as const;
const COMPRESSIONS = ['none', 'gzip', 'snappy', 'zstd'] as const;

export function parseTime(text: string): string {
  const at = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(at))
    throw new Error('must look like 2026-05-01T00:00:00Z');
  return new Date(at).toISOString().replace(/\.000Z$/, 'Z');
}

/** `agentplane export …`; `get bx` lists exports. */
export const EXPORT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'export create',
      about: 'export the runs of a tracing project as Parquet',
      arguments: [
        { name: 'name', about: 'name of the export; by default the project and the time', isOptional: true },
      ],
      options: {
        project: optional('--project <project>', 'tracing project, by name or id'),
        destination: defaulted('--destination <name>', 'BulkExportDestination to write to', 'local'),
        last: optional('--last <window>', 'window that ends now: 24h, 7d (default 24h)'),
        from: parsed('--from <time>', 'first instant of the window, RFC 3339', parseTime),
        to: parsed('--to <time>', 'end of the window, exclusive', parseTime),
        format: parsed('--format <version>', FORMATS.join(', '), oneOf(FORMATS), FORMATS),
        compression: parsed(
          '--compression <codec>',
          COMPRESSIONS.join(', '),
          oneOf(COMPRESSIONS),
          COMPRESSIONS,
        ),
        filter: optional('--filter <text>', 'condition on the runs, such as \'eq(status, "error")\''),
        fields: optional('--fields <columns>', 'columns, separated by commas; all by default'),
        wait: toggle('--wait', 'wait until it is complete, with progress'),
        timeout: timeoutOption('1h'),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: [
        'export create --project sample-agent --wait',
        'export create may --project sample-agent --from 2026-05-01 --to 2026-06-01 --destination my-store',
      ],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async ([name], flags) => (await import('./export-create-command.js')).createExport(name, flags),
  ),
];
