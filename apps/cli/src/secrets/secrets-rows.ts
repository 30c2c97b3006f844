import { type Command, command, optional, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';
import { DEPLOYMENT_NAME, WAIT_OPTIONS } from '../rollout/rollout-rows.js';

const FILE = optional('-f, --file <file>', 'lines of NAME=value, as in .env; - reads standard input', 'file');
const EXITS = ['notFound', 'unreachable', 'timedOut', 'refused'] as const;

/** `agentplane secrets …`. */
export const SECRET_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'secrets list',
      about: 'list the names of the secrets of a deployment; their values are never shown',
      arguments: [DEPLOYMENT_NAME],
      options: { ...TARGET_OPTIONS, output: OUTPUT },
      examples: ['secrets list sample-agent'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./secrets-command.js')).listSecrets(name, flags),
  ),
  command(
    {
      words: 'secrets set',
      about: 'add or change secrets of a deployment, in a new revision; the others stay',
      arguments: [
        DEPLOYMENT_NAME,
        {
          name: 'pairs',
          about: 'NAME=value; a file keeps values out of the history of the shell',
          isOptional: true,
          isRepeated: true,
        },
      ],
      options: { file: FILE, ...WAIT_OPTIONS },
      examples: ['secrets set sample-agent -f .env', 'secrets set sample-agent MODEL=small -f - < keys.env'],
      exits: EXITS,
      needs: 'rest',
    },
    async (words, flags) => (await import('./secrets-command.js')).setSecrets(words, flags),
  ),
  command(
    {
      words: 'secrets unset',
      about: 'remove secrets of a deployment, in a new revision; the others stay',
      arguments: [DEPLOYMENT_NAME, { name: 'names', about: 'names of the secrets', isRepeated: true }],
      options: WAIT_OPTIONS,
      examples: ['secrets unset sample-agent OLD_KEY'],
      exits: EXITS,
      needs: 'rest',
    },
    async (words, flags) => (await import('./secrets-command.js')).unsetSecrets(words, flags),
  ),
  command(
    {
      words: 'secrets replace',
      about: 'replace all secrets of a deployment by those of a file, in a new revision',
      arguments: [DEPLOYMENT_NAME],
      options: {
        file: FILE,
        yes: toggle('--yes', 'remove those that the file does not have'),
        ...WAIT_OPTIONS,
      },
      examples: ['secrets replace sample-agent -f .env --yes'],
      exits: EXITS,
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./secrets-command.js')).replaceSecrets(name, flags),
  ),
];
