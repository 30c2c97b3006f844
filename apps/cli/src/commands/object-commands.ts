import { type Command, command, defaulted, optional, parsed, toggle, wholeNumber } from '#lib/command-line';
import { parseDuration } from '#lib/time';
import { TARGET_OPTIONS } from '../context/target.js';
import { oneOf, parseCount } from '../parse-count.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { OUTPUT } from '../output/output-option.js';

export const NAMESPACE_OPTION = optional(
  '-n, --namespace <name>',
  'namespace, ws-NAME of a workspace (default that of the kubeconfig)',
  'namespace',
);

/** Verbs over every kind of object. */
export const OBJECT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'get',
      about: 'list objects of a kind, or show one',
      arguments: [
        {
          name: 'kind',
          about:
            'agents, revisions, exports, runs, destinations, pods …; kind, plural or short name (adep, bx)',
          completes: 'kind',
        },
        { name: 'name', about: 'name, or id of the REST interface', isOptional: true, completes: 'object' },
      ],
      options: {
        namespace: NAMESPACE_OPTION,
        allNamespaces: toggle('-A, --all-namespaces', 'objects of every namespace'),
        selector: optional('-l, --selector <labels>', 'labels to match: a=b,c!=d'),
        watch: toggle('-w, --watch', 'print each change until Ctrl-C'),
        limit: parsed('--limit <count>', 'maximum number to list of each kind (default all)', parseCount),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: [
        'get adep',
        'get adep -w',
        'get bx nightly -o yaml',
        "get pods -A -o jsonpath='{.items[*].metadata.name}'",
      ],
      exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('../objects/get-command.js')).getObjects(words, flags),
  ),
  command(
    {
      words: 'describe',
      about: 'show one object with its conditions and events',
      arguments: [
        { name: 'kind', about: 'kind, plural or short name', completes: 'kind' },
        { name: 'name', about: 'name, or id of the REST interface', isOptional: true, completes: 'object' },
      ],
      options: { namespace: NAMESPACE_OPTION, ...TARGET_OPTIONS },
      examples: ['describe adep sample-agent', 'describe bxr/nightly-20260501'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('../objects/describe-command.js')).describeObject(words, flags),
  ),
  command(
    {
      words: 'apply',
      about: 'create or change the objects of a manifest, of any kind',
      options: {
        file: optional('-f, --file <file>', 'manifest in YAML or JSON; - reads standard input', 'file'),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: ['apply -f examples/export.yaml', 'apply -f - < destination.yaml'],
      exits: ['unreachable', 'refused'],
      needs: 'kubernetes',
    },
    async (_words, flags) => (await import('../objects/change-command.js')).applyFile(flags),
  ),
  command(
    {
      words: 'delete',
      about: 'delete an object of any kind, and wait until it and its dependants are deleted',
      arguments: [
        { name: 'kind', about: 'kind, plural or short name', completes: 'kind' },
        {
          name: 'name',
          about: 'name, or id of the REST interface',
          isOptional: true,
          completes: 'object',
        },
      ],
      options: {
        yes: toggle('--yes', 'delete it; without this option the command only prints what would be lost'),
        wait: toggle('--no-wait', 'do not wait until it has ended'),
        timeout: timeoutOption('5m'),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: ['delete adep weather', 'delete adep weather --yes', 'delete bx/nightly --yes --no-wait'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('../objects/change-command.js')).deleteObject(words, flags),
  ),
];

/** Commands for the output of running programs. */
export const LOGS_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'logs',
      about: 'print the logs of a deployment, a revision, a day of an export, a listener or a pod',
      arguments: [
        { name: 'name', about: 'name, or KIND/NAME where several kinds have it', completes: 'deployment' },
      ],
      options: {
        follow: toggle(
          '-f, --follow',
          'print new lines until Ctrl-C, and reconnect when the connection breaks',
        ),
        previous: toggle('-p, --previous', 'print the logs of containers before their last restart'),
        tail: parsed(
          '--tail <lines>',
          'number of last lines to print, of all pods together (default all)',
          wholeNumber(0, 999_999_999),
        ),
        since: parsed('--since <duration>', 'only lines newer than this: 30s, 10m, 2h', parseDuration),
        timestamps: toggle('--timestamps', 'print the time before each line'),
        container: optional('-c, --container <name>', 'container (default all)'),
        revision: optional('--revision <id>', 'revision of the deployment, by name, number or id'),
        output: parsed('-o, --output <format>', 'json: lines as the programs wrote them', oneOf(['json']), [
          'json',
        ]),
        namespace: NAMESPACE_OPTION,
        ...TARGET_OPTIONS,
      },
      examples: [
        'logs sample-agent -f',
        'logs sample-agent --revision 3',
        'logs bxr/nightly-20260501 --tail 50',
      ],
      exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
      needs: 'kubernetes',
    },
    async ([name = ''], flags) => (await import('../logs/logs-command.js')).printLogs(name, flags),
  ),
];

/** Command for the events of running objects. */
export const EVENTS_COMMAND: Command = command(
  {
    words: 'events',
    about: 'show what happened to deployments, their revisions and pods, newest last',
    arguments: [
      {
        name: 'name',
        about: 'name of the deployment, or its id; all without one',
        isOptional: true,
        completes: 'deployment',
      },
    ],
    options: {
      watch: toggle('-w, --watch', 'print new events until Ctrl-C'),
      limit: parsed(
        '--limit <events>',
        'maximum number to show, newest first (default 100)',
        wholeNumber(1, 1_000),
      ),
      ...TARGET_OPTIONS,
      output: OUTPUT,
    },
    examples: ['events', 'events sample-agent', 'events sample-agent -w', 'events sample-agent -o json'],
    exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
    needs: 'rest',
  },
  async ([name], flags) => (await import('../events/events-command.js')).printEvents(name, flags),
);

const NAME = {
  name: 'name',
  about: 'deployment, or KIND/NAME: arev/NAME, lsn/NAME, pod/NAME',
  completes: 'deployment',
} as const;

const POD_OPTIONS = {
  container: optional('-c, --container <name>', 'container (default the first)'),
  revision: optional('--revision <id>', 'revision of the deployment, by name, number or id'),
  namespace: NAMESPACE_OPTION,
  kubeconfig: optional('--kubeconfig <file>', 'kubeconfig of a cluster, in place of a platform', 'file'),
  ...TARGET_OPTIONS,
};

const TERMINAL_OPTIONS = {
  stdin: toggle('-i, --stdin', 'pass standard input to the program'),
  tty: toggle('-t, --tty', 'give the program a terminal'),
  ...POD_OPTIONS,
};

const EXITS = ['notFound', 'unreachable', 'refused'] as const;

/** Commands that reach into a pod of a cluster. */
export const POD_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'exec',
      about: 'run a command in a pod of a deployment; the exit code is that of the command',
      arguments: [NAME, { name: 'command', about: 'command and its arguments, after --', isRepeated: true }],
      options: TERMINAL_OPTIONS,
      examples: ['exec sample-agent -- node --version', 'exec sample-agent -it -- sh'],
      exits: EXITS,
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('../pods/pods-command.js')).execInPod(words, flags),
  ),
  command(
    {
      words: 'attach',
      about: 'connect to the program that runs in a pod: its output, and with -i its input',
      arguments: [NAME],
      options: TERMINAL_OPTIONS,
      examples: ['attach sample-agent', 'attach pod/sample-agent-00001-abc -it'],
      exits: [...EXITS, 'interrupted'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('../pods/pods-command.js')).attachToPod(words, flags),
  ),
  command(
    {
      words: 'cp',
      about: 'copy a file or a folder from or to a pod; its image needs tar',
      arguments: [
        { name: 'from', about: 'path, or NAME:PATH in a pod of a deployment', completes: 'file' },
        { name: 'to', about: 'path, or NAME:PATH in a pod of a deployment', completes: 'file' },
      ],
      options: POD_OPTIONS,
      examples: ['cp sample-agent:/tmp/heap.heapsnapshot .', 'cp data.json sample-agent:/tmp'],
      exits: EXITS,
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('../pods/pods-command.js')).copyFiles(words, flags),
  ),
  command(
    {
      words: 'port-forward',
      about: 'make a port of a pod reachable on this machine, until Ctrl-C',
      arguments: [NAME, { name: 'port', about: 'PORT, or LOCAL:PORT; 0 as LOCAL takes a free port' }],
      options: {
        address: defaulted('--address <address>', 'address of this machine to listen at', '127.0.0.1'),
        ...POD_OPTIONS,
      },
      examples: ['port-forward sample-agent 8000', 'port-forward sample-agent 9000:8000'],
      exits: [...EXITS, 'interrupted'],
      needs: 'kubernetes',
    },
    async (words, flags) => (await import('../pods/pods-command.js')).forwardPorts(words, flags),
  ),
];
