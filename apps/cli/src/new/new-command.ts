import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { shellWord } from '#lib/command-line';
import { INSTALLATION } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { EXIT } from '#lib/lifecycle';
import { CommandError } from '../command-error.js';
import { thisProgram } from '../this-program.js';

const template = (isPython: boolean): string =>
  join(INSTALLATION, 'examples', isPython ? 'new-python-agent' : 'new-agent');

/** The agent's name in the template. */
const PLACEHOLDER = 'my-agent';

/** This program, where a page of the template has a command. */
const COMMAND = /\bagentplane (?=[a-z])/g;

/** Good as the name of an npm package, an image and a deployment. */
const NAME = /^[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** Files that name the agent. */
const NAMED = ['package.json', 'README.md'];

/** Files left by running the template. */
const LEFT_BEHIND = /[\\/](node_modules|\.agentplane|\.env|\.venv|__pycache__)$/;

/** Makes the folder, which must not exist: nothing is written over. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new CommandError('failed', `${folder} already exists; name a new folder, or remove that one`);
    throw new CommandError('failed', `making ${folder} failed: ${errorText(error)}`, { cause: error });
  }
}

/** Commands that install the packages that the folder names. */
function installing(given: string, isPython: boolean): readonly string[] {
  const word = (path: string): string => shellWord(join(given, path));
  if (!isPython) return [`npm install --prefix ${shellWord(given)}`];
  return [
    `python3 -m venv ${word('.venv')}`,
    `${word('.venv/bin/pip')} install -r ${word('requirements.txt')}`,
  ];
}

/** `agentplane new NAME`: makes an agent's folder; the exit code. */
export function makeAgent(given: string, isPython: boolean): number {
  const folder = resolve(given);
  const name = basename(folder);
  if (!NAME.test(name))
    throw new CommandError(
      'usage',
      `${JSON.stringify(name)} cannot name an agent: use a-z, 0-9 and "-", beginning with a letter, 2 to 63 characters`,
    );
  makeFolder(folder);
  cpSync(template(isPython), folder, { recursive: true, filter: (path) => !LEFT_BEHIND.test(path) });
  for (const file of NAMED) {
    const path = join(folder, file);
    if (!existsSync(path)) continue;
    const text = readFileSync(path, 'utf8').replaceAll(PLACEHOLDER, name);
    writeFileSync(
      path,
      text.replaceAll(COMMAND, () => `${thisProgram()} `),
    );
  }
  // npm packs no file of that name, so the template has it under another
  renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'));
  copyFileSync(join(folder, '.env.example'), join(folder, '.env'));
  process.stdout.write(
    [
      `Made ${folder}.`,
      '',
      '  Try next:',
      ...installing(given, isPython).map((words) => `    ${words}`),
      `    ${thisProgram()} dev ${shellWord(given)}`,
      '',
    ].join('\n'),
  );
  return EXIT.ok;
}
