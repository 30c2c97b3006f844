import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { inheritedEnvironment, NODE_MARKS } from '#lib/config';
import { withUmask } from '#lib/process-identity';
import { endAll, type InstallUser } from '../install-user.js';

export interface ProgramRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** Variables beside the marks of the node that this program runs under. */
  readonly environment: Readonly<Record<string, string>>;
  /** Default: the platform's own. */
  readonly user?: InstallUser | undefined;
  /** Gets each line that it writes on its standard output. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** True when its progress is on its standard error. */
  readonly reportsOnError?: boolean;
}

export interface ProgramEnd {
  /** Null: it was killed. */
  readonly code: number | null;
  /** The end of what it wrote on both streams. */
  readonly output: string;
}

/** The code of a failure comes before its stack. */
const KEPT_CHARACTERS = 20_000;
const SHOWN_CHARACTERS = 2_000;

/** npm explains its options after the reason. */
const USAGE_OF_NPM = /^(?:npm error\n)?npm error (?:Clean install a project|Usage:)$/m;

/** The part of an output that a message shows. */
export function endOfOutput(output: string): string {
  const [reason = ''] = output.split(USAGE_OF_NPM);
  return reason.trim().slice(-SHOWN_CHARACTERS);
}

/** Variables that lead to files of the platform's user: caches, settings and logins. */
const OF_PERSON =
  /^(XDG_|NETRC$|(npm_config_)?(cache|userconfig)$|.*_(CACHE_DIR|KEYRING_PROVIDER|CLIENT_CERT)$)/i;

function ownOf(
  environment: Readonly<Record<string, string>>,
  { home }: InstallUser,
): Readonly<Record<string, string>> {
  const others = Object.entries(environment).filter(([name]) => !OF_PERSON.test(name));
  return { ...Object.fromEntries(others), HOME: home, TMPDIR: home };
}

/**
 * Runs a program that makes files for agents, who may be other users than the platform.
 * @throws when it cannot be started
 */
export function runProgram(request: ProgramRequest): Promise<ProgramEnd> {
  const { command, args, folder, environment, user, onLine, reportsOnError = false } = request;
  const env = { ...inheritedEnvironment(NODE_MARKS), ...(user ? ownOf(environment, user) : environment) };
  const own = user ? { uid: user.uid, gid: user.uid } : {};
  return new Promise((resolve, reject) => {
    const child = withUmask(0o022, () =>
      spawn(command, args, { cwd: folder, env, ...own, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-KEPT_CHARACTERS)));
    if (onLine) createInterface({ input: reportsOnError ? child.stderr : child.stdout }).on('line', onLine);
    child.on('error', reject);
    // processes that the program left behind may hold its output open
    if (user) child.on('exit', () => endAll(user));
    child.on('close', (code) => resolve({ code, output }));
  });
}
