import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A command of a page, as a shell would have started it. */
export interface RecordedCommand {
  /** Number of the block that it stands in. */
  readonly block: number;
  readonly program: string;
  readonly words: readonly string[];
  /** A here document, or what a pipe led to it. */
  readonly input: string;
}

export interface Recording {
  readonly commands: readonly RecordedCommand[];
  /** What the shell itself complained about: syntax, variables without a value, programs that no page may need. */
  readonly complaints: string;
}

/** What pages may take for granted on a machine. */
const PROGRAMS = [
  'aws',
  'agentplane',
  'npx',
  'npm',
  'node',
  'kubectl',
  'helm',
  'curl',
  'podman',
  'docker',
  'base64',
  'cat',
  'chmod',
  'cp',
  'date',
  'find',
  'git',
  'grep',
  'head',
  'mv',
  'python3',
  'rm',
  'sed',
  'sleep',
  'systemctl',
  'useradd',
  'xargs',
];

/** Stands for each program: writes down its words and its input, and prints something of the kind it would. */
const STAND_IN = `#!/bin/bash
file=$(/bin/mktemp "$RECORD/XXXXXXXX")
printf '%s\\0' "$BLOCK" "\${0##*/}" "$@" >"$file.words"
/bin/cat >"$file.input"
case "$*" in
  *apiKey*) echo key ;;
  *restUrl*) echo http://api ;;
  *status.url*) echo http://agent ;;
  *'listener manifest'*) ;; # its objects are tested beside the command
  *%Y*) /bin/date +%Y-%m-%dT00:00:00Z ;;
  *) echo 00000000-0000-4000-8000-000000000001 ;;
esac
`;

/** What a reader has in the home folder and in the present one: a shell's own folder, files that a page has filled in. */
const FOLDERS = [join('.config', 'fish')];
const FILES = ['destination.yaml', 'keys.env', 'listener.yaml'];

/** Builtins that would touch this machine are stood in for, too. */
const PREAMBLE = `
for builtin in cd kill; do eval "$builtin() { \\$STAND_INS/$builtin \\"\\$@\\" >/dev/null; }"; done
set -u
exec </dev/null
`;

/**
 * Runs the blocks of a page in one shell, in their order, in which each program is a stand-in.
 * @param given variables that a reader brings along
 */
export function recordCommands(
  blocks: readonly string[],
  given: Readonly<Record<string, string>> = {},
): Recording {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-recorded-'));
  try {
    const [standIns, record] = [join(folder, 'bin'), join(folder, 'record')];
    for (const made of [standIns, record]) mkdirSync(made);
    for (const name of FOLDERS) mkdirSync(join(folder, name), { recursive: true });
    for (const name of FILES) writeFileSync(join(folder, name), '');
    writeFileSync(join(folder, 'stand-in'), STAND_IN);
    chmodSync(join(folder, 'stand-in'), 0o755);
    for (const name of [...PROGRAMS, 'cd', 'kill'])
      symlinkSync(join(folder, 'stand-in'), join(standIns, name));
    const script = blocks.map((text, block) => `export BLOCK=${block}\n${text}`).join('\n');
    const shell = spawnSync('/bin/bash', ['--noprofile', '--norc', '-c', `${PREAMBLE}${script}`], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 30_000,
      env: { ...given, PATH: standIns, PWD: folder, HOME: folder, STAND_INS: standIns, RECORD: record },
    });
    return { commands: recorded(record), complaints: shell.stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function recorded(record: string): readonly RecordedCommand[] {
  return readdirSync(record)
    .filter((name) => name.endsWith('.words'))
    .map((name) => {
      const [block, program = '', ...words] = readFileSync(join(record, name), 'utf8')
        .slice(0, -1)
        .split('\0');
      const input = readFileSync(join(record, name.replace(/words$/, 'input')), 'utf8');
      return { block: Number(block), program, words, input };
    })
    .sort((one, other) => one.block - other.block);
}
