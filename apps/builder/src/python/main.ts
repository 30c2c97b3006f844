import { writeFileSync } from 'node:fs';
import { errorText } from '#lib/errors';
import { closeEnvironment, installOwnPython } from '#lib/image-store';
import { readAgentPython } from './python-build.js';

/**
 * `STEP CONFIGURATION TOOLS MESSAGE`: a step of the build of an agent in Python, run by the builder as a command, so that
 * what bounds commands bounds it. Leaves the reason of a failure in the file MESSAGE.
 */
const [, , step = '', configuration = '', tools = '', message = ''] = process.argv;

try {
  const agent = readAgentPython(configuration);
  if (!agent) throw new Error('the graph configuration names no graphs in Python any more');
  const { folder, settings } = agent;
  const onLine = (line: string): void => void process.stdout.write(`${line}\n`);
  const onInstall = (): void => onLine('installing the packages that the lists of the agent name');
  if (step === 'install')
    await installOwnPython({ folder, settings, builds: false, onInstall, onLine, onNote: onLine }, tools);
  else await closeEnvironment(folder, settings);
} catch (error) {
  writeFileSync(message, errorText(error));
  process.exitCode = 1;
}
