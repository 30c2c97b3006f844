import { type Command, command, optional, parsed, repeated, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';
import { parseTime } from '../parse-count.js';

const OPTIONS = {
  from: optional('--from <url>', 'address of the source, as its own clients have it'),
  apiKeyEnv: optional('--api-key-env <name>', 'environment variable that holds the key of the source'),
  dryRun: toggle('--dry-run', 'count what there is, and write nothing'),
  workspace: optional(
    '--workspace <name>',
    'workspace that takes it; by default that of the key',
    'workspace',
  ),
  ...TARGET_OPTIONS,
  output: OUTPUT,
};

const WHICH = {
  project: repeated('--project <name>', 'project of the source, by name or id; all by default', String),
  since: parsed('--since <date>', 'runs that began then or later, RFC 3339, UTC without a zone', parseTime),
  until: parsed('--until <date>', 'runs that began then or earlier, RFC 3339, UTC without a zone', parseTime),
};

const EXITS = ['notFound', 'unreachable', 'refused'] as const;

/** `agentplane import …`. */
export const IMPORT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'import langsmith',
      about: 'move projects, runs, feedback, datasets and examples of a LangSmith workspace here',
      options: {
        ...WHICH,
        deployments: toggle('--deployments', 'create its deployments from git and from images, too'),
        ...OPTIONS,
      },
      examples: [
        'import langsmith --from https://api.smith.langchain.com --dry-run',
        'import langsmith --from https://eu.api.smith.langchain.com --project support-agent --since 2026-06-01',
      ],
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('./import-command.js')).runImport('langsmith', flags),
  ),
  command(
    {
      words: 'import phoenix',
      about: 'move projects, spans, annotations, datasets and examples of an Arize Phoenix server here',
      options: { ...WHICH, ...OPTIONS },
      examples: [
        'import phoenix --from http://localhost:6006 --dry-run',
        'import phoenix --from https://phoenix.example.com --project default --api-key-env PHOENIX_API_KEY',
      ],
      exits: EXITS,
      needs: 'rest',
    },
    async (_words, flags) => (await import('./import-command.js')).runImport('phoenix', flags),
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
    async (_words, flags) => (await import('./import-command.js')).importAgent(flags),
  ),
];
