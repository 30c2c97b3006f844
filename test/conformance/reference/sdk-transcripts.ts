import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Transcript } from './observation.js';

const run = promisify(execFile);

/** Names of the scenarios of `python/scenarios.py`. */
export const SDK_SCENARIOS = [
  'assistants',
  'threads',
  'runs',
  'streams',
  'interrupts',
  'cancelling and strategies',
  'store',
  'crons',
].map((name) => `Python SDK: ${name}`);

/** What the Python SDK gets from a server. @param python an interpreter that has it */
export async function sdkTranscripts(python: string, url: string): Promise<Transcript[]> {
  const { stdout } = await run(python, [join(import.meta.dirname, 'python', 'scenarios.py'), url], {
    maxBuffer: 64 * 1024 * 1024,
    timeout: 180_000,
  });
  return JSON.parse(stdout) as Transcript[];
}
