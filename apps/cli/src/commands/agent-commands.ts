import { type Command, command, optional, parsed, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { timeoutOption } from '../waiting/timeout-option.js';
import { OUTPUT } from '../output/output-option.js';
import { parseCount } from '../parse-count.js';

/** `agentplane deploy`. */
export const DEPLOY_COMMAND: Command = command(
  {
    words: 'deploy',
    about: 'create or update a deployment and wait until it serves',
    arguments: [{ name: 'name', about: 'name of the deployment', isOptional: true, completes: 'deployment' }],
    options: {
      image: optional(
        '--image <image>',
        'image to run (default its present image, or the image of the same name)',
        'image',
      ),
      file: optional(
        '-f, --file <file>',
        'manifest with the AgentDeployment; - reads standard input',
        'file',
      ),
      secrets: optional(
        '--secrets <file>',
        'give it the variables of a file of NAME=value lines, such as .env, in the same revision; others stay',
        'file',
      ),
      wait: toggle('--no-wait', 'do not wait until it serves'),
      timeout: timeoutOption('5m'),
      namespace: optional(
        '-n, --namespace <name>',
        'namespace (default that of the API key; of a manifest, that of the kubeconfig)',
        'namespace',
      ),
      ...TARGET_OPTIONS,
    },
    examples: [
      'deploy sample-agent',
      'deploy weather --image my-agent',
      'deploy weather --secrets my-agent/.env',
      'deploy -f examples/deployment.yaml',
    ],
    exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
    needs: 'kubernetes',
  },
  async ([name], flags) => (await import('../deploy/deploy-command.js')).deploy(name, flags),
);

const DEPLOYMENT_NAME = {
  name: 'name',
  about: 'name of the deployment, or its id',
  completes: 'deployment',
} as const;
const WAIT_OPTIONS = {
  wait: toggle('--no-wait', 'do not wait until it serves'),
  timeout: timeoutOption('5m'),
  ...TARGET_OPTIONS,
};
const revisionOption = (about: string, byDefault: string) => ({
  revision: optional(
    '--revision <revision>',
    `${about}, by name, number or start of its id; default: ${byDefault}`,
  ),
  ...WAIT_OPTIONS,
});

/** Commands for an existing deployment. */
export const ROLLOUT_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'revisions',
      about: 'list the revisions of a deployment, newest first; * marks the one that serves',
      arguments: [DEPLOYMENT_NAME],
      options: {
        limit: parsed('--limit <count>', 'maximum number to list, newest first (default all)', parseCount),
        ...TARGET_OPTIONS,
        output: OUTPUT,
      },
      examples: ['revisions sample-agent', 'revisions sample-agent --limit 5 -o wide'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../rollout/rollout-command.js')).listRevisions(name, flags),
  ),
  command(
    {
      words: 'rollback',
      about:
        'go back to the revision that served before: its image, resources and secrets (an archived revision gets the present secrets)',
      arguments: [DEPLOYMENT_NAME],
      options: revisionOption(
        'revision to go back to',
        'the last one that served before this one and is not archived',
      ),
      examples: ['rollback sample-agent', 'rollback sample-agent --revision 2f0d4a6e'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) =>
      (await import('../rollout/rollout-command.js')).makeRevisionFrom('former', name, flags),
  ),
  command(
    {
      words: 'redeploy',
      about: 'repeat the newest revision as a new one, for example after a temporary failure',
      arguments: [DEPLOYMENT_NAME],
      options: revisionOption('revision to make it from', 'the newest'),
      examples: ['redeploy sample-agent', 'redeploy sample-agent --revision 3 --no-wait'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) =>
      (await import('../rollout/rollout-command.js')).makeRevisionFrom('latest', name, flags),
  ),
  command(
    {
      words: 'restart',
      about:
        'replace the pods of the revision that serves by new ones; the old ones serve until then, and no setting changes',
      arguments: [DEPLOYMENT_NAME],
      options: {
        force: toggle('--force', 'restart although another revision is rolling out, which continues'),
        ...WAIT_OPTIONS,
      },
      examples: ['restart sample-agent'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../rollout/rollout-command.js')).restart(name, flags),
  ),
  command(
    {
      words: 'suspend',
      about: 'end the pods of a deployment; its database, revisions and address stay',
      arguments: [DEPLOYMENT_NAME],
      options: TARGET_OPTIONS,
      examples: ['suspend sample-agent'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../rollout/rollout-command.js')).suspend(name, flags),
  ),
  command(
    {
      words: 'resume',
      about: 'start the pods of a suspended deployment again, and wait until it serves',
      arguments: [DEPLOYMENT_NAME],
      options: WAIT_OPTIONS,
      examples: ['resume sample-agent', 'resume sample-agent --no-wait'],
      exits: ['notFound', 'unreachable', 'timedOut', 'refused'],
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../rollout/rollout-command.js')).resume(name, flags),
  ),
];

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
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../secrets/secrets-command.js')).listSecrets(name, flags),
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
    async (words, flags) => (await import('../secrets/secrets-command.js')).setSecrets(words, flags),
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
    async (words, flags) => (await import('../secrets/secrets-command.js')).unsetSecrets(words, flags),
  ),
  command(
    {
      words: 'secrets replace',
      about: 'replace all secrets of a deployment by those of a file, in a new revision',
      arguments: [DEPLOYMENT_NAME],
      options: {
        file: FILE,
        yes: toggle('--yes', 'also remove the secrets that the file does not have'),
        ...WAIT_OPTIONS,
      },
      examples: ['secrets replace sample-agent -f .env --yes'],
      exits: EXITS,
      needs: 'rest',
    },
    async ([name = ''], flags) => (await import('../secrets/secrets-command.js')).replaceSecrets(name, flags),
  ),
];

/** Options that name an agent: a deployment of the platform, or any agent server. */
const AGENT_OPTIONS = {
  url: optional('--url <address>', 'address of an agent server, such as that of "dev", in place of a name'),
  ...TARGET_OPTIONS,
};

const AGENT_NAME = {
  name: 'name',
  about: 'name of the deployment, or its id',
  isOptional: true,
  completes: 'deployment',
} as const;

/** `agentplane chat`. */
const CHAT_COMMAND: Command = command(
  {
    words: 'chat',
    about: 'talk with an agent, and show time, tokens, cost and trace of each answer',
    arguments: [AGENT_NAME],
    options: {
      thread: optional('--thread <id>', 'continue this thread, or answer what it waits for'),
      graph: optional('--graph <id>', 'graph or assistant to talk with (default the first)'),
      once: optional('--once <text>', 'send one message, print the answer and end'),
      input: optional(
        '--input <json>',
        'send an input to a graph that takes no messages, print the answer and end',
      ),
      output: OUTPUT,
      ...AGENT_OPTIONS,
    },
    examples: [
      'chat sample-agent',
      'chat sample-agent --once "what is 2 + 40?" -o json',
      `chat planner --graph plan --input '{"topic": "tea"}'`,
      'chat --url http://127.0.0.1:2024',
    ],
    exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
    needs: 'rest',
  },
  async ([name], flags) => (await import('../chat/chat-command.js')).chat(name, flags),
);

const LIST_OPTIONS = {
  limit: parsed('--limit <count>', 'maximum number to list (default 20)', parseCount),
  output: OUTPUT,
  ...AGENT_OPTIONS,
};

/** Commands that talk with an agent, and list what was said. */
export const CHAT_COMMANDS: readonly Command[] = [
  CHAT_COMMAND,
  command(
    {
      words: 'threads list',
      about:
        'list the threads of an agent with what was asked and answered last, those that changed last first',
      arguments: [AGENT_NAME],
      options: LIST_OPTIONS,
      examples: ['threads list sample-agent', 'threads list --url http://127.0.0.1:2024'],
      needs: 'rest',
    },
    async ([name], flags) => (await import('../chat/threads-command.js')).listThreads(name, flags),
  ),
  command(
    {
      words: 'threads show',
      about: 'show the messages of a thread',
      arguments: [
        { ...AGENT_NAME, about: 'name of the deployment, or its id; left out with --url' },
        { name: 'id', about: 'id of the thread', isOptional: true },
      ],
      options: { output: OUTPUT, ...AGENT_OPTIONS },
      examples: ['threads show sample-agent 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10'],
      needs: 'rest',
    },
    async (words, flags) => (await import('../chat/threads-command.js')).showThread(words, flags),
  ),
  command(
    {
      words: 'runs list',
      about: 'list runs of an agent, the newest first; "get days" lists those of exports',
      arguments: [AGENT_NAME],
      options: { thread: optional('--thread <id>', 'only runs of this thread'), ...LIST_OPTIONS },
      examples: ['runs list sample-agent'],
      needs: 'rest',
    },
    async ([name], flags) => (await import('../chat/threads-command.js')).listAgentRuns(name, flags),
  ),
];

/** `agentplane acp`. */
export const ACP_COMMAND: Command = command(
  {
    words: 'acp',
    about: 'serve an agent to an editor: Agent Client Protocol on standard input and output',
    arguments: [AGENT_NAME],
    options: {
      graph: optional('--graph <id>', 'graph or assistant to talk with (default the first)'),
      ...AGENT_OPTIONS,
    },
    examples: ['acp sample-agent', 'acp --url http://127.0.0.1:2024'],
    needs: 'rest',
  },
  async ([name], flags) => (await import('../acp/acp-command.js')).acp(name, flags),
);
