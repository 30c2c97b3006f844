import { type Command, command, optional, parsed, repeated, toggle } from '#lib/command-line';
import { isUuid } from '#lib/resources';
import { CHOSEN_SCOPES, type ChosenScope, KEY_SCOPES } from '#lib/auth';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { oneOf, parseCount } from '../parse-count.js';
import { OUTPUT } from '../output/output-option.js';
import { OUTPUT_WORDS, parseOutputFormat } from '../output/print-items.js';

const PLANS = ['developer', 'plus', 'enterprise'] as const;
const NAME = { name: 'name', about: 'name of the workspace' };
const KNOWN = { ...NAME, completes: 'workspace' } as const;
const SPEC_OPTIONS = {
  plan: parsed('--plan <plan>', `plan, which sets its limits: ${PLANS.join(', ')}`, oneOf(PLANS), PLANS),
  displayName: optional('--display-name <text>', 'name that people see'),
};

function parseTenant(text: string): string {
  if (isUuid(text)) return text;
  throw new Error('must be a uuid');
}

/** `agentplane workspace …`. */
export const WORKSPACE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'workspace list',
      about: 'list the workspaces with their tenants, plans and states',
      options: { ...TARGET_OPTIONS, output: OUTPUT },
      examples: ['workspace list', 'workspace list -o json'],
      exits: ['unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async (_words, flags) => (await import('../workspace/workspace-command.js')).listWorkspaces(flags),
  ),
  command(
    {
      words: 'workspace show',
      about: 'show the workspace of the key: its plan, the limits that hold, and how much of them it uses',
      options: { ...TARGET_OPTIONS, output: OUTPUT },
      examples: ['workspace show', 'workspace show -o jsonpath={.usage.api_keys}'],
      exits: ['unreachable', 'refused'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('../workspace/workspace-command.js')).showWorkspace(flags),
  ),
  command(
    {
      words: 'workspace create',
      about: 'make a workspace with a listener, and wait until it is ready',
      arguments: [NAME],
      options: {
        ...SPEC_OPTIONS,
        tenant: parsed('--tenant <id>', 'its tenant id, a uuid; by default a new one', parseTenant),
        listener: toggle('--no-listener', 'make no listener: agents of the workspace need one of their own'),
        timeout: timeoutOption('1m'),
        ...TARGET_OPTIONS,
      },
      examples: ['workspace create research', 'workspace create team-b --plan plus --display-name "Team B"'],
      exits: ['unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) =>
      (await import('../workspace/workspace-command.js')).createWorkspace(name, flags),
  ),
  command(
    {
      words: 'workspace set',
      about: 'change the plan or the display name of a workspace',
      arguments: [KNOWN],
      options: { ...SPEC_OPTIONS, ...TARGET_OPTIONS },
      examples: ['workspace set team-b --plan enterprise'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) =>
      (await import('../workspace/workspace-command.js')).setWorkspace(name, flags),
  ),
  command(
    {
      words: 'workspace delete',
      about:
        'delete a workspace with all its deployments, exports and traces, and wait until nothing is left',
      arguments: [KNOWN],
      options: {
        yes: toggle('--yes', 'delete it; without this option the command only prints what would be lost'),
        timeout: timeoutOption('5m'),
        ...TARGET_OPTIONS,
      },
      examples: ['workspace delete team-b', 'workspace delete team-b --yes'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) =>
      (await import('../workspace/workspace-command.js')).deleteWorkspace(name, flags),
  ),
];

const KEYS_OPTIONS = {
  workspace: optional('-w, --workspace <name>', 'workspace (default that of the key in use)', 'workspace'),
  ...TARGET_OPTIONS,
};

const SCOPE_OPTION = {
  flags: '--scope <scope>',
  about: `what the key opens: ${CHOSEN_SCOPES.join(', ')}`,
  fallback: 'workspace' as ChosenScope,
  shownFallback: 'workspace',
  parse: oneOf(CHOSEN_SCOPES),
  completes: CHOSEN_SCOPES,
};

/** Dates end somewhere; nothing else is meant by the number. */
const LONGEST_DAYS = 36_500;

function parseLifetime(text: string): number {
  const lifetimeMs = parseDuration(text);
  if (lifetimeMs <= LONGEST_DAYS * 86_400_000) return lifetimeMs;
  throw new Error(`must be at most ${LONGEST_DAYS}d`);
}

/** `agentplane keys …`. */
export const KEY_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'keys list',
      about: 'list the keys in force; their values are not stored',
      options: {
        all: toggle('--all', 'include revoked keys'),
        scope: parsed('--scope <scope>', 'only keys of this scope', oneOf(KEY_SCOPES), KEY_SCOPES),
        limit: parsed('--limit <count>', 'maximum number to list, newest first (default all)', parseCount),
        ...KEYS_OPTIONS,
        output: OUTPUT,
      },
      examples: ['keys list', 'keys list --scope read --limit 10 -o wide', 'keys list --all -o yaml'],
      needs: 'rest',
    },
    async (_words, flags) => (await import('../keys/keys-command.js')).listKeys(flags),
  ),
  command(
    {
      words: 'keys create',
      about: 'make a key and print it; it cannot be shown again',
      arguments: [{ name: 'name', about: 'owner or purpose of the key' }],
      options: {
        scope: SCOPE_OPTION,
        expires: parsed(
          '--expires <duration>',
          'lifetime of the key: 12h, 30d (default unlimited)',
          parseLifetime,
        ),
        ...KEYS_OPTIONS,
        output: parsed(
          '-o, --output <format>',
          `${OUTPUT_WORDS.join(', ')} or jsonpath=TEMPLATE, of the key and its properties (default only the key)`,
          parseOutputFormat,
          OUTPUT.completes,
        ),
      },
      examples: [
        'keys create laptop',
        'keys create ci --workspace team-b',
        'keys create dashboard --scope read --expires 30d',
        'keys create ci -o json',
      ],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../keys/keys-command.js')).createKey(name, flags),
  ),
  command(
    {
      words: 'keys revoke',
      about: 'revoke a key',
      arguments: [
        {
          name: 'id',
          about: 'id of the key, see "keys list", or its name where it is unique',
          completes: 'key',
        },
      ],
      options: KEYS_OPTIONS,
      examples: ['keys revoke 3f6C2a7eQw01', 'keys revoke laptop'],
      needs: 'rest',
    },
    async ([id = ''], flags) => (await import('../keys/keys-command.js')).revokeKey(id, flags),
  ),
];

const REMOTE_NAME = { name: 'name', about: 'name of a listener with spec.remote' };
const ADDRESSES = ['cluster-dns', 'loopback'] as const;
const ACCESS_OPTIONS = {
  namespace: optional('-n, --namespace <name>', 'namespace of the listener (default that of the kubeconfig)'),
  server: optional(
    '--server <url>',
    'address at which that cluster reaches this API server (default the one of this command)',
  ),
  duration: {
    flags: '--duration <duration>',
    about: 'lifetime of the token: 720h, 90d; clusters may shorten it',
    fallback: parseDuration('365d'),
    shownFallback: '365d',
    parse: parseDuration,
  },
};

/** `agentplane listener …`. */
export const LISTENER_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'listener manifest',
      about: 'print the manifest of a remote listener, for "kubectl apply -f -" in its cluster',
      arguments: [REMOTE_NAME],
      options: {
        ...ACCESS_OPTIONS,
        image: optional(
          '--image <name>',
          'image of the listener, as that cluster pulls it (default agentplane/listener of this version)',
        ),
        pullSecret: optional(
          '--pull-secret <name>',
          'Secret of that cluster with the credentials of the registry',
        ),
        addresses: parsed(
          '--addresses <how>',
          'how Services are reached there: cluster-dns, or loopback where a machine is its node',
          oneOf(ADDRESSES),
          ADDRESSES,
        ),
        agentsNonRoot: toggle(
          '--agents-non-root',
          'pods of agents there must not run as root, as the restricted Pod Security Standard asks for',
        ),
        onlySecret: toggle(
          '--only-secret',
          'print only the Secret with the kubeconfig of the hub, for the chart with remoteListener.hub.existingSecret',
        ),
        tracing: repeated(
          '--tracing <variable>',
          'NAME=VALUE of OpenTelemetry for the pods there, such as OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318; may be repeated',
          (text) => text,
        ),
        ...TARGET_OPTIONS,
      },
      examples: [
        'listener manifest far | kubectl --context far apply -f -',
        'listener manifest far --only-secret | kubectl --context far apply -f -',
        'listener manifest far --server https://hub.example.org:6443 --image registry.example.org/agentplane/listener:0.2.0',
      ],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) =>
      (await import('../listener/listener-command.js')).printManifest(name, flags),
  ),
  command(
    {
      words: 'listener kubeconfig',
      about: 'print a kubeconfig with the rights of a remote listener, and no others',
      arguments: [REMOTE_NAME],
      options: { ...ACCESS_OPTIONS, ...TARGET_OPTIONS },
      examples: ['listener kubeconfig far > far.kubeconfig', 'listener kubeconfig far --duration 24h'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) =>
      (await import('../listener/listener-command.js')).printKubeconfig(name, flags),
  ),
];
