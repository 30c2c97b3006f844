import { type Command, command, optional } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';
import { DEPLOYMENT_NAME, WAIT_OPTIONS } from '../rollout/rollout-rows.js';

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
      about: 'replace all secrets of a deployment by those of a file, in a new revision',
      arguments: [DEPLOYMENT_NAME],
      options: {
        file: optional(
          '-f, --file <file>',
          'lines of NAME=value, as in .env; - reads standard input',
          'file',
        ),
        ...WAIT_OPTIONS,
      },
      examples: ['secrets set sample-agent -f .env', 'secrets set sample-agent -f - < keys.env'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('./secrets-command.js')).setSecrets(name, flags),
  ),
];
