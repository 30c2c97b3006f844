import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { parseTime } from '../parse-count.js';
import { OUTPUT } from '../output/output-option.js';

const WHICH_OPTIONS = {
  project: optional('--project <project>', 'tracing project, by name or id; all by default', 'project'),
  filter: optional('--filter <text>', 'condition on the runs, such as \'gt(latency, "5s")\''),
  errors: toggle('--errors', 'only what failed'),
  thread: optional('--thread <id>', 'only runs of this thread'),
  search: optional('--search <text>', 'only runs with this text in name, error, tags, inputs or outputs'),
};

/** Maximum number of listed runs; more do not fit a terminal. */
const MOST_LISTED = 10_000;

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED)
    throw new Error(`must be a number from 1 to ${MOST_LISTED}`);
  return limit;
}

/** `agentplane traces …`. */
export const TRACE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'traces list',
      about: 'list traces, the newest first: what was asked and answered, status, time, tokens and cost',
      options: {
        ...WHICH_OPTIONS,
        last: parsed('--last <duration>', 'those that began so long ago or later: 15m, 24h', parseDuration),
        from: parsed(
          '--from <time>',
          'those that began then or later, RFC 3339, UTC without a zone',
          parseTime,
        ),
        to: parsed(
          '--to <time>',
          'those that began then or earlier, RFC 3339, UTC without a zone',
          parseTime,
        ),
        children: toggle('--children', 'every run, and not the roots of traces alone'),
        limit: {
          flags: '--limit <count>',
          about: 'most to list',
          fallback: 20,
          shownFallback: '20',
          parse: parseLimit,
        },
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'traces list --project sample-agent',
        'traces list --errors --last 24h -o wide',
        'traces list --children --filter \'and(eq(run_type, "llm"), gt(latency, "5s"))\'',
      ],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('./traces-command.js')).listTraces(flags),
  ),
  command(
    {
      words: 'traces show',
      about: 'show the trace of a run as a tree, with times, tokens and costs',
      arguments: [{ name: 'id', about: 'id of a trace, or of any run in it' }],
      options: {
        values: toggle('--values', 'inputs, outputs and error of the run that is named, too'),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'traces show 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10',
        'traces show 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10 --values',
      ],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('./traces-command.js')).showTrace(id, flags),
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
    async (_words, flags) => (await import('./list-projects.js')).listProjects(flags),
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
    async (_words, flags) => (await import('./traces-command.js')).tailTraces(flags),
  ),
];
