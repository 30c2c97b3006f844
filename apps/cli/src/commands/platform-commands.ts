import {
  type Command,
  command,
  COMPLETE_WORD,
  completionScript,
  DATA_OPTION,
  LIVE_NAMES,
  optional,
  parsed,
  type ProgramSpec,
  SHELLS,
} from '#lib/command-line';
import { withoutTrailingSlashes } from '#lib/url';
import { EXIT } from '#lib/lifecycle';
import { timeoutOption } from '../waiting/timeout-option.js';
import { OUTPUT } from '../output/output-option.js';
import { TARGET_OPTIONS } from '../context/target.js';

/** `agentplane down`. */
export const DOWN_COMMAND: Command = command(
  {
    words: 'down',
    about: 'stop the platform on this machine, as Ctrl-C does, and wait until it has stopped',
    options: { data: DATA_OPTION, timeout: timeoutOption('90s') },
    examples: ['down', 'down --data /srv/agentplane --timeout 5m'],
    exits: ['timedOut', 'refused'],
    needs: 'data folder',
  },
  async (_words, flags) => (await import('../down/down-command.js')).stopPlatform(flags),
);

/** `agentplane doctor`. */
export const DOCTOR_COMMAND: Command = command(
  {
    words: 'doctor',
    about: 'check this machine and the platform on it: what is missing, what cannot be used, and what to do',
    options: { data: DATA_OPTION, output: OUTPUT },
    examples: ['doctor', 'doctor --data /srv/agentplane -o json'],
    needs: 'nothing',
  },
  async (_words, flags) => (await import('../doctor/doctor-command.js')).diagnose(flags),
);

function parseAddress(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Error('must be an absolute http or https URL');
  return withoutTrailingSlashes(text);
}

const NAME = { name: 'name', about: 'name of the context', completes: 'context' } as const;

/** `agentplane contexts …`. */
export const CONTEXT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'contexts list',
      about: 'list the platforms that are known by name',
      options: { output: OUTPUT },
      examples: ['contexts list', 'contexts list -o json'],
      needs: 'nothing',
    },
    async (_words, flags) => (await import('../context/contexts-command.js')).listContexts(flags.output),
  ),
  command(
    {
      words: 'contexts use',
      about: 'choose the context of later commands; "local" is the data folder',
      arguments: [NAME],
      options: {},
      examples: ['contexts use production', 'contexts use local'],
      exits: ['notFound'],
      needs: 'nothing',
    },
    async ([name = '']) => (await import('../context/contexts-command.js')).useContext(name),
  ),
  command(
    {
      words: 'contexts add',
      about: 'add a platform, or replace the one of that name',
      arguments: [{ name: 'name', about: 'name of the context' }],
      options: {
        address: parsed('--address <url>', 'address of the REST interface', parseAddress),
        keyFile: optional('--key-file <file>', 'file with an API key; - reads standard input', 'file'),
        caFile: optional(
          '--ca-file <file>',
          'PEM of the authority that made its certificate, or of the certificate itself',
          'file',
        ),
        kubeconfig: optional('--kubeconfig <file>', 'kubeconfig of its Kubernetes API', 'file'),
        region: optional('--region <name>', 'region, which people see in lists'),
      },
      examples: [
        'contexts add production --address https://agents.example.com --key-file key.txt --region eu-west-1',
      ],
      needs: 'nothing',
    },
    async ([name = ''], flags) => (await import('../context/contexts-command.js')).addContext(name, flags),
  ),
  command(
    {
      words: 'contexts remove',
      about: 'forget a platform and its key',
      arguments: [NAME],
      options: {},
      examples: ['contexts remove production'],
      exits: ['notFound'],
      needs: 'nothing',
    },
    async ([name = '']) => (await import('../context/contexts-command.js')).removeContext(name),
  ),
];

type Table = Pick<ProgramSpec, 'commands' | 'groups'>;

/** `agentplane completion SHELL`, and what its scripts call. @param table all commands, these included */
export function completionCommands(table: () => Table): readonly Command[] {
  return [
    command(
      {
        words: 'completion',
        about: 'print a completion script for a shell',
        arguments: [{ name: 'shell', about: SHELLS.join(', '), completes: SHELLS }],
        options: {},
        examples: [
          'completion bash >> ~/.bashrc',
          'completion zsh >> ~/.zshrc',
          'completion fish >> ~/.config/fish/config.fish',
        ],
        needs: 'nothing',
      },
      async ([given = '']) => {
        const shell = SHELLS.find((one) => one === given);
        if (shell === undefined) {
          process.stderr.write(`no completion for shell ${given}: known are ${SHELLS.join(', ')}\n`);
          return EXIT.usage;
        }
        process.stdout.write(completionScript(shell, table()));
        return EXIT.ok;
      },
    ),
    command(
      {
        words: COMPLETE_WORD,
        about: 'print the names that completion offers, one in a line; nothing while they cannot be read',
        arguments: [
          { name: 'what', about: LIVE_NAMES.join(', ') },
          { name: 'kind', about: 'of objects', isOptional: true },
        ],
        options: {
          ...TARGET_OPTIONS,
          workspace: optional('-w, --workspace <name>', 'whose keys'),
          namespace: optional('-n, --namespace <name>', 'whose objects'),
        },
        examples: [`${COMPLETE_WORD} object adep`],
        needs: 'nothing',
        isHidden: true,
      },
      async ([what = '', kind], flags) =>
        (await import('../completion/complete-names.js')).printNames(what, kind, flags),
    ),
  ];
}
