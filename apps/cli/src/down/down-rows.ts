import { type Command, command, DATA_OPTION } from '#lib/command-line';
import { timeoutOption } from '../waiting/timeout-option.js';

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
  async (_words, flags) => (await import('./down-command.js')).stopPlatform(flags),
);
