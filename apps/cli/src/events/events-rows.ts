import { type Command, command, parsed, toggle } from '#lib/command-line';
import { TARGET_OPTIONS } from '../context/target.js';
import { OUTPUT } from '../output/output-option.js';

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d{1,4}$/.test(text) || limit < 1 || limit > 1_000) throw new Error('must be from 1 to 1000');
  return limit;
}

/** Command for the events of running objects. */
export const EVENTS_COMMAND: Command = command(
  {
    words: 'events',
    about: 'show what happened to deployments, their revisions and pods, newest last',
    arguments: [
      {
        name: 'name',
        about: 'name of the deployment, or its id; all without one',
        isOptional: true,
        completes: 'deployment',
      },
    ],
    options: {
      watch: toggle('-w, --watch', 'go on with what happens, until Ctrl-C'),
      limit: parsed('--limit <events>', 'so many of the newest (100)', parseLimit),
      ...TARGET_OPTIONS,
      output: OUTPUT,
    },
    examples: ['events', 'events sample-agent', 'events sample-agent -w', 'events sample-agent -o json'],
    exits: ['notFound', 'unreachable', 'refused', 'interrupted'],
    needs: 'rest',
  },
  async ([name], flags) => (await import('./events-command.js')).printEvents(name, flags),
);
