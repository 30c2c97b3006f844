import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BuildError } from './build-error.js';
import { type BuilderConfig, maxFileBytes } from './config.js';
import { print } from './print.js';
import { type Command, NOT_FOUND, runCommand } from './run-command.js';

type RefuseIncompleteGit = (args: readonly string[], what: string) => Promise<string>;

const SHOWN = 5;
const SUBMODULE = /^160000 commit [0-9a-f]+\t(.*)$/gm;
/** Beginning of a file whose content LFS keeps elsewhere. */
const POINTER = 'version https://git-lfs.github.com/spec/v1';

/**
 * Refuses a commit whose checkout would lack files in silence.
 * @throws BuildError naming them
 */
async function refuseIncomplete(git: RefuseIncompleteGit): Promise<void> {
  const tree = await git(['ls-tree', '-r', '--full-tree', 'FETCH_HEAD'], 'reading the commit');
  const submodules = [...tree.matchAll(SUBMODULE)].map(([, path = '']) => path);
  if (submodules.length > 0)
    throw new BuildError(
      `submodules are not supported: ${shown(submodules)}; put their files into the repository, or publish them as packages`,
    );
  const named = await git(
    ['grep', '-l', '-I', '-e', `^${POINTER}$`, 'FETCH_HEAD'],
    'looking for files of LFS',
  );
  const pointers: string[] = [];
  for (const line of named.split('\n').filter((one) => one !== '')) {
    const path = line.replace(/^FETCH_HEAD:/, '');
    // a page about LFS may hold the line too
    const text = await git(['cat-file', 'blob', `FETCH_HEAD:${path}`], `reading ${path}`);
    if (text.startsWith(POINTER)) pointers.push(path);
    if (pointers.length > SHOWN) break;
  }
  if (pointers.length > 0)
    throw new BuildError(
      `files of LFS are not supported: ${shown(pointers)}; keep them in the repository itself, or load them when the agent starts`,
    );
}

function shown(paths: readonly string[]): string {
  const more = paths.length > SHOWN ? ' and others' : '';
  return `${paths.slice(0, SHOWN).join(', ')}${more}`;
}

/**
 * No protocol but https, no redirect to another host, no helper, hook or setting of the machine. Programs
 * that a repository can make git run (hooks, filters, submodules) are off or refused.
 */
const SETTINGS = [
  'protocol.allow=never',
  'protocol.https.allow=always',
  'http.followRedirects=false',
  'credential.helper=',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'fetch.fsckObjects=true',
  'submodule.recurse=false',
  'gc.auto=0',
  'advice.detachedHead=false',
];

/** Prints what git asks for; the values are in its environment, never in an argument. */
const ASK_PASS =
  '#!/bin/sh\ncase "$1" in Username*) printf %s "$BUILD_GIT_USERNAME" ;; *) printf %s "$BUILD_GIT_TOKEN" ;; esac\n';

/** `source` in the working folder: what the pod leaves. */
export function sourceFolder(): string {
  return join(process.cwd(), 'source');
}

/** The same folder without content: an attempt that was cut short may have left some. */
export function emptySourceFolder(): string {
  const folder = sourceFolder();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

function environmentOf({ username, token, ca }: BuilderConfig): Readonly<Record<string, string>> {
  const own = join(process.cwd(), '.build');
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const [askPass, caFile] = [join(own, 'ask-pass'), join(own, 'ca.pem')];
  writeFileSync(askPass, ASK_PASS);
  chmodSync(askPass, 0o700);
  if (ca !== undefined) writeFileSync(caFile, ca);
  return {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    ...(token === undefined
      ? { GIT_ASKPASS: '/bin/false' }
      : { GIT_ASKPASS: askPass, BUILD_GIT_USERNAME: username, BUILD_GIT_TOKEN: token }),
    ...(ca === undefined ? {} : { GIT_SSL_CAINFO: caFile }),
  };
}

/** Runs git in the source; with `isRemote` it may ask for the token. */
class Git {
  readonly #folder: string;
  readonly #remote: Readonly<Record<string, string>>;
  readonly #common: Pick<Command, 'signal' | 'maxFileBytes'>;

  constructor(folder: string, config: BuilderConfig, signal: AbortSignal) {
    this.#folder = folder;
    this.#remote = environmentOf(config);
    this.#common = { signal, maxFileBytes: maxFileBytes(config) };
  }

  async run(args: readonly string[], what: string): Promise<string> {
    let output = '';
    const program = 'git';
    const settings = SETTINGS.flatMap((one) => ['-c', one]);
    const code = await runCommand({
      program,
      args: [...settings, ...args],
      folder: this.#folder,
      environment: this.#remote,
      ...this.#common,
      onOutput: (text) => (output += text),
    });
    if (code === NOT_FOUND) throw new BuildError('git could not be started; install git on this machine');
    // git grep ends with 1 when nothing is found
    if (code !== 0 && !(code === 1 && args[0] === 'grep'))
      throw new BuildError(`${what} failed: git ended with exit code ${code}; see the log`);
    return output;
  }
}

/**
 * Clones one commit, without its history, into `source`; ends when the signal is aborted.
 * @throws BuildError when the host refuses, and for parts that would be missing silently: submodules, LFS,
 * the graph configuration
 */
export async function fetchSource(config: BuilderConfig, signal: AbortSignal): Promise<void> {
  const { repository, commit } = config;
  if (repository === undefined || commit === undefined)
    throw new BuildError('the build names neither a commit nor an archive');
  const folder = emptySourceFolder();
  const git = new Git(folder, config, signal);
  print(`fetching ${commit} of ${repository}`);
  await git.run(['init', '-q'], 'making the checkout');
  await git.run(
    ['fetch', '-q', '--depth', '1', '--no-tags', '--no-recurse-submodules', '--', repository, commit],
    `fetching ${repository}`,
  );
  await refuseIncomplete((args, what) => git.run(args, what));
  await git.run(['checkout', '-q', '--detach', 'FETCH_HEAD'], 'checking out');
  requireGraphConfig(folder, config, 'the repository');
  print('fetched');
}

/** @throws BuildError when the graph configuration is missing, or is a link out of the source */
export function requireGraphConfig(
  folder: string,
  { graphConfig }: Pick<BuilderConfig, 'graphConfig'>,
  where: string,
): void {
  const path = join(folder, graphConfig);
  if (!existsSync(path)) {
    const found = readdirSync(folder).filter((name) => name !== '.git');
    throw new BuildError(
      `${graphConfig} does not exist in ${where}; its root has ${found.sort().slice(0, 20).join(', ') || 'no files'}: correct graph_config_path`,
    );
  }
  if (relative(realpathSync(folder), realpathSync(path)).startsWith('..'))
    throw new BuildError(`${graphConfig} is a link that leaves ${where}`);
}
