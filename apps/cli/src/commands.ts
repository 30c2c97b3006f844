import {
  BACKUP,
  BACKUP_VERIFY,
  type Command,
  command,
  MIGRATE_DATABASE,
  MIGRATE_OBJECTS,
  MIGRATE_RESOURCES,
  MIGRATE_TRACES,
  optional,
  RESTORE,
  toggle,
  UP,
} from '#lib/command-line';
import { PLATFORM_VERSION } from '#lib/config';
import { EXIT } from '#lib/lifecycle';
import {
  ACP_COMMAND,
  CHAT_COMMANDS,
  DEPLOY_COMMAND,
  ROLLOUT_COMMANDS,
  SECRET_COMMANDS,
} from './commands/agent-commands.js';
import {
  completionCommands,
  CONTEXT_COMMANDS,
  DOCTOR_COMMAND,
  DOWN_COMMAND,
} from './commands/platform-commands.js';
import { TARGET_OPTIONS } from './context/target.js';
import { CHECK_COMMAND, DEV_COMMAND, IMAGE_COMMANDS, NEW_COMMAND } from './commands/author-commands.js';
import { EVENTS_COMMAND, LOGS_COMMANDS, OBJECT_COMMANDS, POD_COMMANDS } from './commands/object-commands.js';
import { EXPORT_COMMANDS } from './commands/export-commands.js';
import {
  IMPORT_COMMANDS,
  LAKE_COMMANDS,
  PRICE_COMMANDS,
  SQL_COMMANDS,
  TRACE_COMMANDS,
} from './commands/trace-commands.js';
import { KEY_COMMANDS, LISTENER_COMMANDS, WORKSPACE_COMMANDS } from './commands/workspace-commands.js';
import { OUTPUT } from './output/output-option.js';

/** Subject of each noun with verbs. */
export const GROUPS: Readonly<Record<string, string>> = {
  backup: 'copies of the whole platform',
  contexts: 'platforms known by name: address, key, region',
  export: 'exports of runs as Parquet files',
  image: 'images of agents on this machine',
  import: 'move data of other products into a workspace',
  keys: 'API keys of a workspace',
  lake: 'days whose payloads are in the object store',
  listener: 'programs that run deployments in other clusters',
  prices: 'prices of models, which give runs their costs',
  runs: 'executions of an agent',
  secrets: 'secret variables of a deployment',
  migrate: 'move data to another installation',
  threads: 'conversations of an agent',
  traces: 'traces of agents, run by run',
  workspace: 'tenants: each with its namespace, plan, keys and limits',
};

const UP_COMMAND = command(UP, async () => {
  process.stderr.write('up belongs to the platform: start it with bin/agentplane.js\n');
  return EXIT.usage;
});

const ofPlatform =
  ({ words }: { readonly words: string }) =>
  (): Promise<number> => {
    process.stderr.write(`${words} belongs to the platform: start it with bin/agentplane.js\n`);
    return Promise.resolve(EXIT.usage);
  };

const BACKUP_COMMANDS = [
  command(BACKUP, ofPlatform(BACKUP)),
  command(BACKUP_VERIFY, ofPlatform(BACKUP_VERIFY)),
  command(RESTORE, ofPlatform(RESTORE)),
  command(MIGRATE_DATABASE, ofPlatform(MIGRATE_DATABASE)),
  command(MIGRATE_OBJECTS, ofPlatform(MIGRATE_OBJECTS)),
  command(MIGRATE_RESOURCES, ofPlatform(MIGRATE_RESOURCES)),
  command(MIGRATE_TRACES, ofPlatform(MIGRATE_TRACES)),
];

const DASHBOARD = command(
  {
    words: 'dashboard',
    about: 'show deployments with their revisions and exports, live in the terminal',
    options: {
      ...TARGET_OPTIONS,
      kubeconfig: optional('--kubeconfig <file>', 'kubeconfig of another cluster', 'file'),
      namespace: optional('-n, --namespace <name>', 'namespace to show'),
      allNamespaces: toggle('-A, --all-namespaces', 'show every namespace'),
      view: optional(
        '--view <name>',
        'first view, as after ":"; with --once and --linear several, separated by commas',
      ),
      mouse: toggle('--mouse', 'use the mouse: a click selects, a double click opens, the wheel scrolls'),
      once: toggle('--once', 'print the views as lines and exit, also on a terminal'),
      linear: toggle(
        '--linear',
        'print the views, then a line for each change, until Ctrl-C: for screen readers',
      ),
    },
    examples: [
      'dashboard',
      'dashboard --all-namespaces',
      'dashboard --once --view exports,days',
      'dashboard --linear',
    ],
    exits: ['unreachable'],
    needs: 'kubernetes',
  },
  async (_words, flags) => (await import('./dashboard-command.js')).runDashboard(flags),
);

const STATUS = command(
  {
    words: 'status',
    about: 'show what runs, and whether it is healthy',
    options: {
      ...TARGET_OPTIONS,
      output: OUTPUT,
      trust: toggle('--trust', 'show what deployments share: users, database servers, ports'),
    },
    examples: ['status', 'status -o json', 'status --trust'],
    exits: ['unreachable'],
    needs: 'kubernetes',
  },
  async (_words, flags) => (await import('./status/status-command.js')).printStatus(flags),
);

const VERSION = command(
  {
    words: 'version',
    about: 'print the version of this program and its Node',
    options: {},
    examples: ['version'],
    exits: [],
    needs: 'nothing',
  },
  async () => {
    process.stdout.write(`agentplane ${PLATFORM_VERSION} (Node ${process.versions.node})\n`);
    return EXIT.ok;
  },
);

/** Commands by what a person wants to do, as the help shows them. */
const SECTIONS: Readonly<Record<string, readonly Command[]>> = {
  'Write an agent': [NEW_COMMAND, DEV_COMMAND, CHECK_COMMAND, ...IMAGE_COMMANDS],
  'Run agents': [DEPLOY_COMMAND, ...ROLLOUT_COMMANDS, ...SECRET_COMMANDS, ...CHAT_COMMANDS, ACP_COMMAND],
  'Look and act': [DASHBOARD, ...OBJECT_COMMANDS, ...LOGS_COMMANDS, EVENTS_COMMAND, ...POD_COMMANDS],
  'Traces and exports': [
    ...TRACE_COMMANDS,
    ...SQL_COMMANDS,
    ...PRICE_COMMANDS,
    ...LAKE_COMMANDS,
    ...EXPORT_COMMANDS,
    ...IMPORT_COMMANDS,
  ],
  'Tenants and access': [...WORKSPACE_COMMANDS, ...KEY_COMMANDS, ...LISTENER_COMMANDS, ...CONTEXT_COMMANDS],
  'The platform of this machine': [UP_COMMAND, DOWN_COMMAND, STATUS, DOCTOR_COMMAND, ...BACKUP_COMMANDS],
  'This program': [...completionCommands(() => ({ commands: COMMANDS, groups: GROUPS })), VERSION],
};

/** Every command, in the order of the help. Each loads what it needs when it runs, so the help loads none of it. */
export const COMMANDS: readonly Command[] = Object.values(SECTIONS).flat();

/** The heading of the help under which a command is. */
export function headingOf(command: Command): string {
  return Object.entries(SECTIONS).find(([, commands]) => commands.includes(command))?.[0] ?? '';
}
