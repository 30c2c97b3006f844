import { runCommandLine } from '#lib/command-line';
import { PLATFORM_VERSION } from '#lib/config';
import { COMMANDS, GROUPS, headingOf } from './commands.js';

await runCommandLine(
  {
    about: 'Open, self-hosted platform for agent servers: deploy them, run them, export what they did.',
    version: PLATFORM_VERSION,
    groups: GROUPS,
    commands: COMMANDS,
    headingOf,
    report: async (error) => (await import('./report-error.js')).reportError(error),
  },
  process.argv.slice(2),
);
