import { type Command, command, DATA_OPTION } from '#lib/command-line';
import { OUTPUT } from '../output/output-option.js';

/** `agentplane doctor`. */
export const DOCTOR_COMMAND: Command = command(
  {
    words: 'doctor',
    about: 'check this machine and the platform on it: what is missing, what cannot be used, and what to do',
    options: { data: DATA_OPTION, output: OUTPUT },
    examples: ['doctor', 'doctor --data /srv/agentplane -o json'],
    exits: [],
    needs: 'nothing',
  },
  async (_words, flags) => (await import('./doctor-command.js')).diagnose(flags),
);
