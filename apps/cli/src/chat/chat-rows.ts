import { type Command, command, optional, parsed } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';
import { parseCount } from '../parse-count.js';

/** Options that name an agent: a deployment of the platform, or any agent server. */
export const AGENT_OPTIONS = {
  url: optional('--url <address>', 'address of an agent server, such as that of "dev", in place of a name'),
  ...TARGET_OPTIONS,
};

export const AGENT_NAME = {
  name: 'name',
  about: 'name of the deployment, or its id',
  isOptional: true,
  completes: 'deployment',
} as const;

/** `agentplane chat`. */
const CHAT_COMMAND: Command = command(
  {
    words: 'chat',
    about: 'talk with an agent; under each answer its time, tokens, cost and trace',
    arguments: [AGENT_NAME],
    options: {
      thread: optional('--thread <id>', 'continue this thread, also where it waits for an answer'),
      graph: optional('--graph <id>', 'graph or assistant to talk with; by default the first'),
      once: optional('--once <text>', 'send one message, print the answer and end'),
      output: OUTPUT,
      ...AGENT_OPTIONS,
    },
    examples: [
      'chat sample-agent',
      'chat sample-agent --once "what is 2 + 40?" -o json',
      'chat --url http://127.0.0.1:2024',
    ],
    exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
    needs: 'rest',
  },
  async ([name], flags) => (await import('./chat-command.js')).chat(name, flags),
);

const LIST_OPTIONS = {
  limit: parsed('--limit <count>', 'most to list (20)', parseCount),
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
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([name], flags) => (await import('./threads-command.js')).listThreads(name, flags),
  ),
  command(
    {
      words: 'threads show',
      about: 'show what was said in a thread of an agent',
      arguments: [
        { ...AGENT_NAME, about: 'name of the deployment, or its id; left out with --url' },
        { name: 'id', about: 'id of the thread', isOptional: true },
      ],
      options: { output: OUTPUT, ...AGENT_OPTIONS },
      examples: ['threads show sample-agent 0197e0c5-2b0c-7e51-9d3a-3f0c8a3b2d10'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async (words, flags) => (await import('./threads-command.js')).showThread(words, flags),
  ),
  command(
    {
      words: 'runs list',
      about: 'list runs of an agent, the newest first; "get days" lists those of exports',
      arguments: [AGENT_NAME],
      options: { thread: optional('--thread <id>', 'only runs of this thread'), ...LIST_OPTIONS },
      examples: ['runs list sample-agent'],
      exits: ['notFound', 'unreachable', 'refused'],
      needs: 'rest',
    },
    async ([name], flags) => (await import('./threads-command.js')).listAgentRuns(name, flags),
  ),
];
