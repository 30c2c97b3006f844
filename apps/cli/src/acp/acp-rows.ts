import { type Command, command, optional } from '#lib/command-line';
import { AGENT_NAME, AGENT_OPTIONS } from '../chat/chat-rows.js';

/** `agentplane acp`. */
export const ACP_COMMAND: Command = command(
  {
    words: 'acp',
    about: 'serve an agent to an editor that speaks the Agent Client Protocol, on standard input and output',
    arguments: [AGENT_NAME],
    options: {
      graph: optional('--graph <id>', 'graph or assistant to talk with; by default the first'),
      ...AGENT_OPTIONS,
    },
    examples: ['acp sample-agent', 'acp --url http://127.0.0.1:2024'],
    exits: ['notFound', 'unreachable', 'refused'],
    needs: 'rest',
  },
  async ([name], flags) => (await import('./acp-command.js')).acp(name, flags),
);
