import { type Command, command, toggle } from '#lib/command-line';
import { OUTPUT } from '../output/output-option.js';

/** `agentplane check`. */
export const CHECK_COMMAND: Command = command(
  {
    words: 'check',
    about: 'try the agent of a folder: install, load, draw and run each graph once with a made-up model',
    arguments: [
      {
        name: 'folder',
        about: 'the folder with langgraph.json; the present one by default',
        isOptional: true,
        completes: 'folder',
      },
    ],
    options: {
      buildPackages: toggle(
        '--build-packages',
        'build Python packages that have no wheel, which runs code of their authors as this user',
      ),
      output: OUTPUT,
    },
    examples: ['check', 'check ./my-agent', 'check ./my-agent -o json'],
    exits: ['unreachable'],
    needs: 'nothing',
  },
  async ([folder = '.'], flags) => (await import('./check-command.js')).checkFolder(folder, flags),
);
