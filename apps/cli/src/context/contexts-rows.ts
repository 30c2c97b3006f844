import { type Command, command, optional, parsed } from '#lib/command-line';
import { withoutTrailingSlashes } from '#lib/url';
import { OUTPUT } from '../output/output-option.js';

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
      exits: [],
      needs: 'nothing',
    },
    async (_words, flags) => (await import('./contexts-command.js')).listContexts(flags.output),
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
    async ([name = '']) => (await import('./contexts-command.js')).useContext(name),
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
        region: optional('--region <name>', 'where it runs, for people'),
      },
      examples: [
        'contexts add production --address https://agents.example.com --key-file key.txt --region eu-west-1',
      ],
      exits: [],
      needs: 'nothing',
    },
    async ([name = ''], flags) => (await import('./contexts-command.js')).addContext(name, flags),
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
    async ([name = '']) => (await import('./contexts-command.js')).removeContext(name),
  ),
];
