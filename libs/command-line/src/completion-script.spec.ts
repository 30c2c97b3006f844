import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { command } from './command.js';
import { completionScript, SHELLS } from './completion-script.js';
import { optional, toggle } from './option.js';

const ROW = { about: 'does it', options: {}, examples: [], exits: [], needs: 'nothing' } as const;
const done = (): Promise<number> => Promise.resolve(0);

const TABLE = {
  groups: { keys: 'keys' },
  commands: [
    command(
      {
        ...ROW,
        words: 'get',
        arguments: [{ name: 'kind', about: 'kind', completes: 'kind' }],
        options: {
          output: { ...optional('-o, --output <format>', 'format', ['table', 'yaml']) },
          all: toggle('-A, --all', "everybody's"),
        },
      },
      done,
    ),
    command(
      {
        ...ROW,
        words: 'show',
        arguments: [
          { name: 'kind', about: 'kind', completes: 'kind' },
          { name: 'name', about: 'name', completes: 'object' },
        ],
        options: {
          data: optional('--data <dir>', 'data folder', 'folder'),
          project: optional('--project <name>', 'project', 'project'),
        },
      },
      done,
    ),
    command({ ...ROW, words: 'keys list' }, done),
    command({ ...ROW, words: 'keys create' }, done),
    command({ ...ROW, words: 'secret-plan', isHidden: true }, done),
  ],
};

describe('completionScript', () => {
  const folder = temporaryFolder();

  /** Completions that bash offers for the last word. */
  function offered(...words: string[]): string[] {
    const file = join(folder, 'completion.bash');
    writeFileSync(file, completionScript('bash', TABLE));
    // the platform answers what it was asked, and a name that a shell would run
    const platform = 'agentplane() { printf "%s\\n" "asked $*" \'$(touch ran)\'; }';
    const script = `${platform}; source ${file}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _agentplane; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script, 'bash', 'agentplane', ...words], {
      encoding: 'utf8',
      cwd: folder,
    })
      .split('\n')
      .filter((line) => line !== '');
  }

  it.each([
    ['the commands', [''], ['get', 'show', 'keys']],
    ['the verbs of a noun', ['keys', ''], ['list', 'create']],
    ['verbs by their beginning', ['keys', 'cr'], ['create']],
    ['the options of a command', ['get', '-'], ['-o', '--output', '-A', '--all', '--help']],
    ['the values of an option', ['get', '-o', ''], ['table', 'yaml']],
    ['the values of an argument', ['get', 'dest'], ['destinations']],
    ['the values of an argument after an option', ['get', '--all', 'pod'], ['pods']],
    ['the values of an argument after an option with a value', ['show', '--data', 'x', 'pod'], ['pods']],
    [
      'names that the platform has',
      ['show', '--project', ''],
      ['asked\\ complete-names\\ project', '\\$\\(touch\\ ran\\)'],
    ],
    [
      'names of the kind, from the platform that the line means',
      ['show', '--data', 'x', 'pods', 'a'],
      ['asked\\ complete-names\\ object\\ pods\\ --data\\ x'],
    ],
    ['nothing where nothing is known', ['keys', 'create', ''], []],
  ])('offers %s in bash', (_what, words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it('runs nothing of the names that it offers', () => {
    offered('show', '--project', '');
    expect(readdirSync(folder)).not.toContain('ran');
  });

  it.each(SHELLS)('names every command and option for %s', (shell) => {
    const script = completionScript(shell, TABLE);
    for (const word of ['get', 'keys', 'list', 'create', 'output', 'all']) expect(script).toContain(word);
    expect(script).not.toContain('secret-plan');
  });

  it('quotes apostrophes for fish', () => {
    expect(completionScript('fish', TABLE)).toContain(`-d 'everybody'\\''s'`);
  });
});
