import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { wholeEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { isJsonObject } from '#lib/json';

/** The agent server's own migrations: the schema is its, and no other program has a copy of it. */
const PROGRAM = join(INSTALLATION, 'dist', 'apps', 'agent-server', 'src', 'migration', 'main.js');

/**
 * Makes the tables of an agent server in a database, or brings them up to date.
 * @param uri secret; it reaches the program by its environment
 */
export async function bringUpSchema(uri: string): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM], {
    // the channel ends the program with this one
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: wholeEnvironment({ POSTGRES_URI: uri }),
  });
  let failure = '';
  child.on('message', (message) => {
    if (isJsonObject(message)) failure = String(message['failure']);
  });
  const ended = Promise.withResolvers<string>();
  child.once('error', (error) => ended.resolve(error.message));
  // its last message has been read by then
  child.once('close', (code, signal) => ended.resolve(code === 0 ? '' : `exit ${code ?? signal}`));
  const end = await ended.promise;
  if (end !== '')
    throw new Error(
      `bringing the tables of the target up to date failed: ${failure === '' ? end : failure}; nothing was copied`,
    );
}
