import {
  BACKUP,
  BACKUP_VERIFY,
  type Command,
  command,
  optional,
  MIGRATE_DATABASE,
  MIGRATE_OBJECTS,
  MIGRATE_RESOURCES,
  MIGRATE_TRACES,
  RESTORE,
  toggle,
  UP,
} from '#lib/command-line';
import { PLATFORM_VERSION } from '#lib/config';
import { EXIT } from '#lib/lifecycle';
import { ACP_COMMAND } from './acp/acp-rows.js';
import { CHAT_COMMANDS } from './chat/chat-rows.js';
import { completionCommands } from './completion/completion-rows.js';
import { CONTEXT_COMMANDS } from './context/contexts-rows.js';
import { TARGET_OPTIONS } from './context/target.js';
import { CHECK_COMMAND } from './check/check-rows.js';
import { DEPLOY_COMMAND } from './deploy/deploy-rows.js';
import { DEV_COMMAND } from './dev/dev-rows.js';
import { DOCTOR_COMMAND } from './doctor/doctor-rows.js';
import { DOWN_COMMAND } from './down/down-rows.js';
import { EVENTS_COMMAND } from './events/events-rows.js';
import { EXPORT_COMMANDS } from './export/export-rows.js';
import { IMAGE_COMMANDS } from './image/image-rows.js';
import { IMPORT_COMMANDS } from './import/import-rows.js';
import { KEY_COMMANDS } from './keys/keys-rows.js';
import { LISTENER_COMMANDS } from './listener/listener-rows.js';
import { LOGS_COMMANDS } from './logs/logs-rows.js';
import { NEW_COMMAND } from './new/new-rows.js';
import { OBJECT_COMMANDS } from './objects/object-rows.js';
import { OUTPUT } from './output/output-option.js';
import { PRICE_COMMANDS } from './prices/prices-rows.js';
import { ROLLOUT_COMMANDS } from './rollout/rollout-rows.js';
import { SECRET_COMMANDS } from './secrets/secrets-rows.js';
import { SQL_COMMANDS } from './sql/sql-rows.js';
import { TRACE_COMMANDS } from './traces/traces-rows.js';
import { WORKSPACE_COMMANDS } from './workspace/workspace-rows.js';

/** Subject of each noun with verbs. */
export const GROUPS: Readonly<Record<string, string>> = {
  backup: 'copies of the whole platform',
  contexts: 'platforms known by name: address, key, region',
  export: 'exports of runs as Parquet files',
  image: 'images of agents on this machine',
  import: 'what other products hold, moved into a workspace',
  keys: 'API keys of a workspace',
  listener: 'what carries out deployments in another cluster',
  prices: 'prices of models, by which runs get their costs',
  runs: 'executions of an agent',
  secrets: 'variables of a deployment that answers never show',
  migrate: 'data that moves to another installation',
  threads: 'conversations of an agent',
  traces: 'what agents did, run by run',
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
    about: 'show deployments, revisions and exports, live in the terminal',
    options: {
      ...TARGET_OPTIONS,
      kubeconfig: optional('--kubeconfig <file>', 'kubeconfig of another cluster', 'file'),
      namespace: optional('-n, --namespace <name>', 'namespace to show'),
      allNamespaces: toggle('-A, --all-namespaces', 'show every namespace'),
      view: optional('--view <name>', 'view to begin with, as after ":"; several with commas when it prints'),
      mouse: toggle('--mouse', 'take the mouse: clicks select, double clicks open, the wheel moves'),
      once: toggle('--once', 'print the views as lines and end, also on a terminal'),
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

/** Every command, in the order of the help. Each loads what it needs when it runs, so the help loads none of it. */
export const COMMANDS: readonly Command[] = [
  NEW_COMMAND,
  DEV_COMMAND,
  CHECK_COMMAND,
  UP_COMMAND,
  DOWN_COMMAND,
  STATUS,
  DOCTOR_COMMAND,
  DASHBOARD,
  ...OBJECT_COMMANDS,
  ...LOGS_COMMANDS,
  EVENTS_COMMAND,
  ACP_COMMAND,
  ...CHAT_COMMANDS,
  DEPLOY_COMMAND,
  ...ROLLOUT_COMMANDS,
  ...SECRET_COMMANDS,
  ...EXPORT_COMMANDS,
  ...PRICE_COMMANDS,
  ...SQL_COMMANDS,
  ...TRACE_COMMANDS,
  ...IMPORT_COMMANDS,
  ...IMAGE_COMMANDS,
  ...WORKSPACE_COMMANDS,
  ...LISTENER_COMMANDS,
  ...KEY_COMMANDS,
  ...CONTEXT_COMMANDS,
  ...BACKUP_COMMANDS,
  ...completionCommands(() => ({ commands: COMMANDS, groups: GROUPS })),
  VERSION,
];
