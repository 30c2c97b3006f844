import { PLATFORM_VERSION } from '#lib/config';
import { command, runCommandLine, UP } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { EXIT } from '#lib/lifecycle';

// what the rest of a start needs is loaded after the options are known to be right
await runCommandLine(
  {
    about: 'Open, self-hosted platform for agent servers: deploy them, run them, export what they did.',
    version: PLATFORM_VERSION,
    groups: {},
    commands: [
      command(UP, async (_words, flags) => {
        const { runUp } = await import('./up/up-command.js');
        runUp(flags);
        return undefined;
      }),
    ],
    report: (error) => {
      process.stderr.write(`${errorText(error)}\n`);
      return EXIT.failed;
    },
  },
  process.argv.slice(2),
);
