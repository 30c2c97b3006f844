import { type Command, command, defaulted, optional, parsed, toggle, wholeNumber } from '#lib/command-line';
import { findFilterProblem } from '#lib/filter-language';
import { LABEL, SECRET_TYPE } from '#lib/resources';
import { TARGET_OPTIONS } from '../context/target.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { NAMESPACE_OPTION } from './object-commands.js';
import { oneOf, parseCount, parseLast, parseTime } from '../parse-count.js';
import { OUTPUT } from '../output/output-option.js';
import { DDL_ENGINES } from '../export/ddl-engine.js';

const FORMATS = ['v1', 'v2_beta'] as const;
const CATCH_UP = ['all', 'none'] as const;
const FILES = ['parquet', 'jsonl'] as const;
const TABLES = ['iceberg'] as const;
const COMPRESSIONS = ['none', 'gzip', 'snappy', 'zstd'] as const;

/** `24h`, `7d` → hours; the window of a schedule is 1 to 168 hours long. */
function parseEvery(text: string): number {
  const found = /^(\d{1,3})([hd])$/.exec(text);
  const hours = Number(found?.[1] ?? 0) * (found?.[2] === 'd' ? 24 : 1);
  if (hours < 1 || hours > 168) throw new Error('must be 1h to 168h, or 1d to 7d');
  return hours;
}

function parseCondition(text: string): string {
  const problem = findFilterProblem(text);
  if (problem) throw problem;
  return text;
}

const CHANGES = [
  ['pause', 'pause an export or a schedule: no further day or export starts'],
  ['resume', 'continue a paused export, or a schedule with every window that ended meanwhile'],
  ['run-now', 'make one more export of a schedule, of its open window up to now'],
  ['cancel', 'cancel an export for good; exports that a schedule has made continue'],
] as const;

/** Commands that change an export that has not ended. */
const CHANGE_COMMANDS: readonly Command[] = CHANGES.map(([change, about]) =>
  command(
    {
      words: `export ${change}`,
      about,
      arguments: [{ name: 'name', about: 'name or id of the export', completes: 'export' }],
      options: { namespace: NAMESPACE_OPTION, ...TARGET_OPTIONS },
      examples: [`export ${change} hourly`],
      needs: 'kubernetes',
    },
    async ([name], flags) =>
      (await import('../export/export-command.js')).changeExport(name ?? '', change, flags),
  ),
);

const MOVE_COMMAND = command(
  {
    words: 'export move',
    about: 'write future exports of a schedule to another destination',
    arguments: [
      { name: 'name', about: 'name or id of the schedule', completes: 'export' },
      { name: 'destination', about: 'name or id of the BulkExportDestination', completes: 'destination' },
    ],
    options: { namespace: NAMESPACE_OPTION, ...TARGET_OPTIONS },
    examples: ['export move hourly my-store'],
    needs: 'kubernetes',
  },
  async ([name = '', destination = ''], flags) =>
    (await import('../export/export-command.js')).changeExport(name, 'move', flags, destination),
);

/** `agentplane export …`. */
export const EXPORT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'export list',
      about: 'list exports and schedules, as "get bx" does',
      options: {
        namespace: NAMESPACE_OPTION,
        allNamespaces: toggle('-A, --all-namespaces', 'exports of every namespace'),
        selector: optional('-l, --selector <labels>', 'labels to match: a=b,c!=d'),
        watch: toggle('-w, --watch', 'print each change until Ctrl-C'),
        limit: parsed('--limit <count>', 'maximum number to list (default all)', parseCount),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['export list', 'export list -w', `export list -l ${LABEL.sourceExport}=hourly`],
      exits: ['unreachable', 'refused', 'interrupted'],
      needs: 'kubernetes',
    },
    async (_words, flags) => (await import('../objects/get-command.js')).getObjects(['bx'], flags),
  ),
  command(
    {
      words: 'export create',
      about: 'export the runs of a tracing project as Parquet or lines of JSON',
      arguments: [{ name: 'name', about: 'name of the export (default project and time)', isOptional: true }],
      options: {
        project: optional('--project <project>', 'tracing project, by name or id', 'project'),
        destination: defaulted(
          '--destination <name>',
          'BulkExportDestination to write to',
          'local',
          'destination',
        ),
        last: parsed('--last <window>', 'window that ends now: 24h, 7d (default 24h)', parseLast),
        from: parsed(
          '--from <time>',
          'start of the window: RFC 3339, in UTC unless it names a zone',
          parseTime,
        ),
        to: parsed('--to <time>', 'end of the window, which is not part of it; the same form', parseTime),
        every: parsed(
          '--every <interval>',
          'make it a schedule of windows of 1h to 168h that begins at --from',
          parseEvery,
        ),
        catchUp: parsed(
          '--catch-up <windows>',
          'for a schedule that begins in the past: export all or none of the windows that have ended; required above 24 windows',
          oneOf(CATCH_UP),
          CATCH_UP,
        ),
        files: parsed(
          '--files <format>',
          `format of the files: ${FILES.join(', ')} (default parquet)`,
          oneOf(FILES),
          FILES,
        ),
        format: parsed(
          '--format <version>',
          `version of the columns: ${FORMATS.join(', ')} (default v1)`,
          oneOf(FORMATS),
          FORMATS,
        ),
        table: parsed(
          '--table <kind>',
          'iceberg: write the metadata of a table over the files, one table for all windows of a schedule',
          oneOf(TABLES),
          TABLES,
        ),
        pageMib: parsed(
          '--page-mib <size>',
          'largest page of payloads in MiB, 1 to 8, for readers that hold whole pages',
          wholeNumber(1, 8),
        ),
        compression: parsed(
          '--compression <codec>',
          `compression of the files: ${COMPRESSIONS.join(', ')} (default zstd)`,
          oneOf(COMPRESSIONS),
          COMPRESSIONS,
        ),
        filter: parsed(
          '--filter <text>',
          'condition on the runs, such as \'eq(status, "error")\'',
          parseCondition,
        ),
        fields: optional('--fields <columns>', 'columns, separated by commas (default all)'),
        dryRun: toggle('--dry-run', 'print the estimated rows, bytes and time, and create nothing'),
        webhook: optional(
          '--webhook <url>',
          'URL that is called when the export has ended, successful or not',
        ),
        webhookSecret: optional(
          '--webhook-secret <name>',
          `Secret of type ${SECRET_TYPE.webhookSecret} whose key "secret" signs the calls of --webhook`,
        ),
        feedback: toggle('--feedback', 'also export the feedback of the runs, in files of its own'),
        wait: toggle('--wait', 'wait until it is complete, and show its progress'),
        timeout: timeoutOption('1h'),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: [
        'export create --project sample-agent --wait',
        'export create --project sample-agent --last 30d --dry-run',
        'export create hourly --project sample-agent --from 2026-05-01 --every 1h --catch-up none',
        'export create may --project sample-agent --from 2026-05-01 --to 2026-06-01 --destination my-store',
      ],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async ([name], flags) => (await import('../export/export-create-command.js')).createExport(name, flags),
  ),
  command(
    {
      words: 'export watch',
      about: 'show the progress of an export and its days until it ends; the exit code is its result',
      arguments: [{ name: 'name', about: 'name or id of the export', completes: 'export' }],
      options: { timeout: timeoutOption('72h'), namespace: NAMESPACE_OPTION, ...TARGET_OPTIONS },
      examples: ['export watch may', 'export watch may --timeout 10m'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused', 'interrupted'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('../export/export-command.js')).watchExport(name, flags),
  ),
  ...CHANGE_COMMANDS,
  MOVE_COMMAND,
  command(
    {
      words: 'export files',
      about: 'list the finished files of an export by day',
      arguments: [{ name: 'name', about: 'name or id of the export', completes: 'export' }],
      options: { ...TARGET_OPTIONS, output: OUTPUT },
      examples: ['export files may', 'export files may -o name'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../export/export-files-command.js')).listFiles(name, flags),
  ),
  command(
    {
      words: 'export ddl',
      about: 'print the statements that create a table over the Parquet files of an export',
      arguments: [{ name: 'name', about: 'name or id of the export', completes: 'export' }],
      options: {
        for: parsed('--for <engine>', `one of ${DDL_ENGINES.join(', ')}`, oneOf(DDL_ENGINES)),
        ...TARGET_OPTIONS,
      },
      examples: ['export ddl may --for athena', 'export ddl may --for duckdb'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../export/export-ddl-command.js')).printDdl(name, flags),
  ),
  command(
    {
      words: 'export continue',
      about: 'continue an export that failed or ran out of time: keep its files, export the rest',
      arguments: [{ name: 'name', about: 'name or id of the export', completes: 'export' }],
      options: TARGET_OPTIONS,
      examples: ['export continue may', 'export continue 2f0d4a6e-5b1c-4f0e-9a53-0c4f5d1c9a11'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../export/export-command.js')).continueExport(name, flags),
  ),
  command(
    {
      words: 'export late',
      about:
        'count the runs that arrived or changed after an export, by day; with --export, export only these',
      arguments: [{ name: 'name', about: 'name or id of a completed export', completes: 'export' }],
      options: {
        export: toggle('--export', 'export these runs, if there are any'),
        ...TARGET_OPTIONS,
      },
      examples: ['export late may', 'export late may --export'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../export/export-command.js')).exportLate(name, flags),
  ),
  command(
    {
      words: 'export verify',
      about:
        'compare an export with its bucket and the trace store: files, sizes, checksums, numbers of rows',
      arguments: [{ name: 'name', about: 'name or id of a completed export', completes: 'export' }],
      options: {
        quick: toggle('--quick', 'compare sizes without reading the files, and count no feedback'),
        ...TARGET_OPTIONS,
      },
      examples: ['export verify may', 'export verify 2f0d4a6e-5b1c-4f0e-9a53-0c4f5d1c9a11 --quick'],
      needs: 'rest',
    },
    async ([name = ''], flags) =>
      (await import('../export/export-files-command.js')).verifyExport(name, flags),
  ),
];
