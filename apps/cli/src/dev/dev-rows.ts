import { type Command, command, defaulted, optional, parsed, toggle } from '#lib/command-line';
import { DEV_PORT } from './dev-port.js';

function port(text: string): number {
  const found = Number(text);
  if (!/^\d{1,5}$/.test(text) || found > 65_535) throw new Error('must be a port, 0 to 65535');
  return found;
}

/** `agentplane dev`. */
export const DEV_COMMAND: Command = command(
  {
    words: 'dev',
    about: 'run the agent of one folder, reload it on every change, and stay until Ctrl-C',
    arguments: [
      {
        name: 'folder',
        about: 'the folder with langgraph.json; the present one by default',
        isOptional: true,
        completes: 'folder',
      },
    ],
    options: {
      port: parsed('--port <port>', `port to listen on (default ${DEV_PORT}, or the next free one)`, port),
      host: defaulted(
        '--host <address>',
        'address to listen on; on one that others reach, callers need a key',
        '127.0.0.1',
      ),
      reload: toggle('--no-reload', 'load the agent once and leave changes alone'),
      envFile: optional(
        '--env-file <file>',
        'variables for the agent, before those of langgraph.json',
        'file',
      ),
    },
    examples: ['dev', 'dev ./my-agent --port 8000', 'dev --env-file .env.local'],
    exits: [],
    needs: 'nothing',
  },
  async ([folder = '.'], flags) => (await import('./dev-command.js')).runDev(folder, flags),
);
