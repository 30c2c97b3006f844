import { PLATFORM_VERSION } from '#lib/config';
import { runCommandLine } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { EXIT } from '#lib/lifecycle';
import { COMMANDS, GROUPS } from './commands.js';

await runCommandLine(
  {
    about: 'Open, self-hosted platform for agent servers: deploy them, run them, export what they did.',
    version: PLATFORM_VERSION,
    groups: GROUPS,
    commands: COMMANDS,
    report: (error) => {
      process.stderr.write(`${errorText(error)}\n`);
      return EXIT.failed;
    },
  },
  process.argv.slice(2),
);
