import {
  type Command,
  command,
  defaulted,
  optional,
  type OptionSpec,
  parsed,
  repeated,
  toggle,
  wholeNumber,
} from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { parseLast, parseTime } from '../parse-count.js';
import { OUTPUT } from '../output/output-option.js';
import { timeoutOption } from '../waiting/timeout-option.js';

const WHICH_OPTIONS = {
  project: optional('--project <project>', 'tracing project, by name or id (default all)', 'project'),
  filter: optional('--filter <text>', 'condition on the runs, such as \'gt(latency, "5s")\''),
  errors: toggle('--errors', 'only failed runs'),
  thread: optional('--thread <id>', 'only runs of this thread'),
  search: optional('--search <text>', 'only runs with this text in name, error, tags, inputs or outputs'),
};

/** Maximum number of listed runs; more do not fit a terminal. */
const MOST_LISTED = 10_000;

const LIMIT: OptionSpec<number> = {
  flags: '--limit <count>',
  about: 'maximum number to list',
  fallback: 20,
  shownFallback: '20',
  parse: wholeNumber(1, MOST_LISTED),
};

/** `agentplane traces …`. */
export const TRACE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'traces list',
      about: 'list traces, the newest first: what was asked and answered, status, time, tokens and cost',
      options: {
        ...WHICH_OPTIONS,
        last: parsed(
          '--last <duration>',
          'only runs that began within this time before now: 15m, 24h',
          parseDuration,
        ),
        from: parsed(
          '--from <time>',
          'only runs that began at this time or later: RFC 3339, in UTC unless it names a zone',
          parseTime,
        ),
        to: parsed(
          '--to <time>',
          'only runs that began at this time or earlier: RFC 3339, in UTC unless it names a zone',
          parseTime,
        ),
        children: toggle('--children', 'list every run, not only the roots of traces'),
        limit: LIMIT,
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'traces list --project sample-agent',
        'traces list --errors --last 24h -o wide',
        'traces list --children --filter \'and(eq(run_type, "llm"), gt(latency, "5s"))\'',
      ],
      needs: 'rest',
    },
    async (_words, flags) => (await import('../traces/traces-command.js')).listTraces(flags),
  ),
  command(
    {
      words: 'traces show',
      about: 'show the trace of a run as a tree, with times, tokens and costs',
      arguments: [{ name: 'id', about: 'id of a trace, or of any run in it' }],
      options: {
        values: toggle('--values', 'also print inputs, outputs and error of the named run'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'traces show 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10',
        'traces show 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10 --values',
      ],
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('../traces/traces-command.js')).showTrace(id, flags),
  ),
  command(
    {
      words: 'traces projects',
      about: 'list the tracing projects, the newest first, with runs, tokens and cost',
      options: { ...TARGET_OPTIONS, output: OUTPUT },
      examples: ['traces projects', 'traces projects -o name'],
      exits: ['unreachable', 'refused'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('../traces/traces-command.js')).listProjects(flags),
  ),
  command(
    {
      words: 'traces tail',
      about: 'print a line for each trace that ends, until Ctrl-C',
      options: { ...WHICH_OPTIONS, ...TARGET_OPTIONS },
      examples: ['traces tail --project sample-agent', 'traces tail --errors'],
      exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('../traces/traces-command.js')).tailTraces(flags),
  ),
];

/** `agentplane sql`. */
export const SQL_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'sql',
      about: 'query exports, or a project, in SQL with DuckDB: the views are runs, traces and feedback',
      arguments: [
        {
          name: 'export',
          about: 'name or id of an export (default all complete exports in Parquet)',
          isOptional: true,
        },
      ],
      options: {
        command: optional('-c, --command <sql>', 'statement to run (default those of standard input)'),
        project: optional('--project <project>', 'export this project until now, and ask that', 'project'),
        last: parsed('--last <window>', 'for --project: window that ends now (default 7d)', parseLast),
        destination: defaulted(
          '--destination <name>',
          'for --project: BulkExportDestination to write to',
          'local',
          'destination',
        ),
        timeout: timeoutOption('1h'),
        to: optional('--to <file>', 'write the rows to a file: .parquet, .csv or .json'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'sql -c "SELECT name, sum(total_cost) FROM traces GROUP BY name"',
        'sql --project sample-agent --last 30d -c "SELECT count(*) FROM runs"',
        'sql nightly -c "SELECT * FROM runs WHERE status = \'error\'" --to failed.parquet',
      ],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([given], flags) => (await import('../sql/sql-command.js')).askInSql(given, flags),
  ),
];

/** `agentplane lake …`. */
export const LAKE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'lake status',
      about: 'list the days whose payloads are in the object store instead of Postgres, or will be',
      options: {
        project: WHICH_OPTIONS.project,
        limit: LIMIT,
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['lake status', 'lake status --project sample-agent -o wide'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('../lake/lake-command.js')).printLake(flags),
  ),
];

const PER_MILLION = /^\d{1,9}(\.\d{1,9})?$/;

function parseDollars(text: string): string {
  if (PER_MILLION.test(text)) return text;
  throw new Error('must be dollars for a million tokens, such as 2.5');
}

function parseKind(text: string): string {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new Error('must look like cache_read=0.3');
  return `${text.slice(0, at)}=${parseDollars(text.slice(at + 1))}`;
}

const EXITS = ['notFound', 'unreachable', 'refused'] as const;

/** `agentplane prices …`. */
export const PRICE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'prices list',
      about: 'list the prices by which runs get their costs, in dollars for a million tokens',
      options: {
        search: optional('--search <text>', 'only prices whose name, pattern or provider contains this text'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['prices list', 'prices list --search gpt-4o -o wide'],
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('../prices/prices-command.js')).listPrices(flags),
  ),
  command(
    {
      words: 'prices unmatched',
      about: 'list models whose runs have tokens and no cost',
      options: {
        project: optional('--project <project>', 'tracing project, by name or id (default all)', 'project'),
        last: parsed(
          '--last <duration>',
          'only runs that began within this time before now: 24h, 7d (default 24h)',
          parseDuration,
        ),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['prices unmatched', 'prices unmatched --project sample-agent --last 7d'],
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('../prices/prices-command.js')).listUnmatched(flags),
  ),
  command(
    {
      words: 'prices set',
      about: 'add a price, or replace that of the same name, provider and start',
      arguments: [{ name: 'name', about: 'name of the price; without --pattern also the name of the model' }],
      options: {
        input: parsed('--input <dollars>', 'price of a million tokens of the prompt', parseDollars),
        completion: parsed(
          '--completion <dollars>',
          'price of a million tokens of the completion',
          parseDollars,
        ),
        inputKind: repeated(
          '--input-kind <kind=dollars>',
          'price of a million tokens of the prompt of this kind; may be repeated',
          parseKind,
        ),
        completionKind: repeated(
          '--completion-kind <kind=dollars>',
          'price of a million tokens of the completion of this kind; may be repeated',
          parseKind,
        ),
        pattern: optional(
          '--pattern <re2>',
          'regular expression (RE2) for names of models (default the name of the price)',
        ),
        provider: optional('--provider <name>', 'only for runs of this provider'),
        from: parsed(
          '--from <time>',
          'only runs that began at this time or later: RFC 3339, in UTC unless it names a zone',
          parseTime,
        ),
        ...TARGET_OPTIONS,
      },
      examples: [
        'prices set house-large --input 2.5 --completion 10 --input-kind cache_read=0.25',
        'prices set "our gpt-4o" --pattern "^gpt-4o(-.*)?$" --provider azure --input 2 --completion 8',
      ],
      exits: EXITS,
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../prices/prices-command.js')).setPrice(name, flags),
  ),
  command(
    {
      words: 'prices remove',
      about: 'delete a price; a price of the platform is disabled instead',
      arguments: [{ name: 'id', about: 'id of the price, see "prices list -o wide"', completes: 'price' }],
      options: TARGET_OPTIONS,
      examples: ['prices remove 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10'],
      exits: EXITS,
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('../prices/prices-command.js')).removePrice(id, flags),
  ),
  command(
    {
      words: 'prices apply',
      about: 'price stored runs of a tracing project again, except those whose senders gave a cost',
      arguments: [{ name: 'project', about: 'tracing project, by name or id', completes: 'project' }],
      options: {
        from: parsed(
          '--from <time>',
          'only runs that began at this time or later: RFC 3339, in UTC unless it names a zone',
          parseTime,
        ),
        to: parsed(
          '--to <time>',
          'only runs that began before this time: RFC 3339, in UTC unless it names a zone',
          parseTime,
        ),
        wait: toggle('--no-wait', 'do not wait until it has ended'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['prices apply sample-agent', 'prices apply sample-agent --from 2026-11-01 --no-wait'],
      exits: EXITS,
      needs: 'rest',
    },
    async ([project = ''], flags) =>
      (await import('../prices/prices-command.js')).applyPrices(project, flags),
  ),
];

const OPTIONS = {
  from: optional('--from <url>', 'address of the source, as its own clients use it'),
  apiKeyEnv: optional('--api-key-env <name>', 'environment variable that holds the key of the source'),
  dryRun: toggle('--dry-run', 'count what there is, and write nothing'),
  workspace: optional(
    '--workspace <name>',
    'workspace to import into (default that of the key)',
    'workspace',
  ),
  ...TARGET_OPTIONS,
  output: OUTPUT,
};

const WHICH = {
  project: repeated('--project <name>', 'project of the source, by name or id (default all)', String),
  since: parsed(
    '--since <date>',
    'only runs that began at this time or later: RFC 3339, in UTC unless it names a zone',
    parseTime,
  ),
  until: parsed(
    '--until <date>',
    'only runs that began at this time or earlier: RFC 3339, in UTC unless it names a zone',
    parseTime,
  ),
};

/** A product with runs and datasets. */
function importCommand(
  product: 'langsmith' | 'phoenix' | 'langfuse' | 'openai-evals',
  about: string,
  examples: readonly string[],
  more: { readonly deployments?: ReturnType<typeof toggle> } = {},
): Command {
  return command(
    {
      words: `import ${product}`,
      about,
      options: { ...WHICH, ...more, ...OPTIONS },
      examples,
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('../import/import-command.js')).runImport(product, flags),
  );
}

/** `agentplane import …`. */
export const IMPORT_COMMANDS: readonly Command[] = [
  importCommand(
    'langsmith',
    'move projects, runs, feedback, datasets and examples of a LangSmith workspace here',
    [
      'import langsmith --from https://api.smith.langchain.com --dry-run',
      'import langsmith --from https://eu.api.smith.langchain.com --project support-agent --since 2026-06-01',
    ],
    { deployments: toggle('--deployments', 'also create its deployments from git and from images') },
  ),
  importCommand(
    'phoenix',
    'move projects, spans, annotations, datasets and examples of an Arize Phoenix server here',
    [
      'import phoenix --from http://localhost:6006 --dry-run',
      'import phoenix --from https://phoenix.example.com --project default --api-key-env PHOENIX_API_KEY',
    ],
  ),
  importCommand(
    'langfuse',
    'move observations, scores, datasets and their items of a Langfuse project here',
    ['import langfuse --from https://cloud.langfuse.com --since 2026-06-01'],
  ),
  importCommand(
    'openai-evals',
    'move evals of the OpenAI platform here: datasets, runs as experiments, results of graders',
    ['import openai-evals --from https://api.openai.com/v1 --dry-run'],
  ),
  command(
    {
      words: 'import langgraph',
      about:
        'move assistants, threads with their history, crons and items of an agent server into a deployment',
      options: {
        to: optional('--to <deployment>', 'deployment here that has the same graphs', 'deployment'),
        ...OPTIONS,
      },
      examples: ['import langgraph --from http://localhost:2024 --to support-agent'],
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('../import/import-command.js')).importAgent(flags),
  ),
];
