import { type Command, command, toggle } from '#lib/command-line';

/** `agentplane new`. */
export const NEW_COMMAND: Command = command(
  {
    words: 'new',
    about: 'make a folder with an agent that runs',
    arguments: [{ name: 'name', about: 'a new folder; its last part names the agent' }],
    options: { python: toggle('--python', 'an agent in Python; by default it is in TypeScript') },
    examples: ['new my-agent', 'new my-agent --python'],
    exits: [],
    needs: 'nothing',
  },
  async ([name = ''], { python = false }) => (await import('./new-command.js')).makeAgent(name, python),
);
