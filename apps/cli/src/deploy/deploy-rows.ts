import { type Command, command, optional, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { NAMESPACE_OPTION } from '../objects/object-rows.js';
import { timeoutOption } from '../waiting/timeout-option.js';

/** `agentplane deploy`. */
export const DEPLOY_COMMAND: Command = command(
  {
    words: 'deploy',
    about: 'create or update a deployment and wait until it serves',
    arguments: [{ name: 'name', about: 'name of the deployment', isOptional: true, completes: 'deployment' }],
    options: {
      image: optional(
        '--image <image>',
        'image to run; by default the one it has, else one of its own name',
        'image',
      ),
      file: optional(
        '-f, --file <file>',
        'manifest with the AgentDeployment; - reads standard input',
        'file',
      ),
      wait: toggle('--no-wait', 'do not wait until it serves'),
      timeout: timeoutOption('5m'),
      namespace: NAMESPACE_OPTION,
      ...TARGET_OPTIONS,
    },
    examples: [
      'deploy sample-agent',
      'deploy weather --image my-agent',
      'deploy -f examples/deployment.yaml',
    ],
    exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
    needs: 'kubernetes',
  },
  async ([name], flags) => (await import('./deploy-command.js')).deploy(name, flags),
);
