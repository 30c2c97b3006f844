import { type Command, command } from '#lib/command-line';

/** `agentplane new`. */
export const NEW_COMMAND: Command = command(
  {
    words: 'new',
    about: 'make a folder with an agent that runs',
    arguments: [{ name: 'name', about: 'a new folder; its last part names the agent' }],
    options: {},
    examples: ['new my-agent'],
    exits: [],
    needs: 'nothing',
  },
  async ([name = '']) => (await import('./new-command.js')).makeAgent(name),
);
