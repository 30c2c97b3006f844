import { execFile } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { freemem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DEFAULT_LISTEN, findDiskTrouble, findRunningPlatform } from '#lib/data-folder';
import { EXIT } from '#lib/lifecycle';
import { errorText, TerminalError } from '#lib/errors';
import { resolveTarget } from '../context/target.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { type Part, readParts } from '../status/status-command.js';

const SHAPE: Shape<Finding> = {
  nameOf: ({ check }) => check,
  columns: [
    { heading: 'CHECK', cell: ({ check }) => check },
    { heading: 'STATE', cell: ({ state }) => state },
    { heading: 'FOUND', cell: ({ found }) => found.replaceAll('\n', ' ') },
    { heading: 'WHAT TO DO', cell: ({ advice }) => advice },
  ],
};

/** `agentplane doctor`: the machine, and the platform on it when one runs. Exit code 1 when something does not work. */
export async function diagnose({
  data,
  output,
}: {
  readonly data: string;
  readonly output: OutputFormat;
}): Promise<number> {
  const isRunning = findRunningPlatform(data) !== undefined;
  const findings = (
    await Promise.all([
      checkNode(),
      checkMemory(),
      checkDisk(data),
      isRunning ? [] : checkPort(),
      checkUserNamespaces(),
      checkProgram('git', 'agents from a git repository need it (Debian: apt-get install git)'),
      checkPython(),
      checkProgram('podman', 'images of agents for a cluster are built with it, and nothing else needs it'),
      isRunning ? platformFindings(data) : stopped(data),
    ])
  ).flat();
  process.stdout.write(await renderItems(output, findings, SHAPE));
  return findings.some(({ state }) => state === 'failed') ? EXIT.failed : EXIT.ok;
}

function stopped(data: string): Finding {
  return {
    check: 'platform',
    state: 'warning',
    found: `none runs over ${data}`,
    advice: 'start one with "agentplane up", or name its folder with --data',
  };
}

async function platformFindings(data: string): Promise<readonly Finding[]> {
  return (await readParts(resolveTarget({ data, context: undefined }))).map((part) => findingOf(part, data));
}

function findingOf({ part, state, detail }: Part, data: string): Finding {
  if (state === 'ok' || state === 'ready') return ok(part, detail === '' ? state : detail);
  const [kind = '', name] = part.split('/');
  // an agent that does not serve is its author's matter; the platform works
  if (kind === 'deployment')
    return {
      check: part,
      state: 'warning',
      found: `${state}: ${detail}`,
      advice: `agentplane events ${name ?? ''}`,
    };
  const advice =
    kind === 'listener' ? `agentplane describe ${part}` : `the end of the logs in ${data}/logs says why`;
  return { check: part, state: 'failed', found: `${state}: ${detail}`, advice };
}

/** Result of one check of the platform's requirements. */
export interface Finding {
  readonly check: string;
  /** `warning`: something cannot be used; `failed`: the platform does not work. */
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  /** Remedy; empty when all is well. */
  readonly advice: string;
}

function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, advice: '' };
}

const LEAST_NODE = 24;
/** A platform with one agent. */
const LEAST_MEMORY_BYTES = 536_870_912;
const GOOD_MEMORY_BYTES = 1_073_741_824;
const GOOD_DISK_BYTES = 2_147_483_648;
const ANSWER_MS = 10_000;

/** Node, as it runs this. */
function checkNode(): Finding {
  const { node } = process.versions;
  const found = `${node} (${process.execPath})`;
  if (Number.parseInt(node, 10) >= LEAST_NODE) return ok('node', found);
  return {
    check: 'node',
    state: 'failed',
    found,
    advice: `install Node ${LEAST_NODE}, or run npm install again: it brings one`,
  };
}

/** The disk of the data folder. */
function checkDisk(folder: string): Finding {
  const at = nearest(resolve(folder));
  const { bavail, bsize } = statfsSync(at);
  const free = bavail * bsize;
  const found = `${sizeText(free)} free for ${resolve(folder)}`;
  const trouble = findDiskTrouble(at);
  if (trouble !== undefined)
    return {
      check: 'disk',
      state: 'failed',
      found,
      advice: 'free some space, or name another folder with --data',
    };
  if (free >= GOOD_DISK_BYTES) return ok('disk', found);
  return {
    check: 'disk',
    state: 'warning',
    found,
    advice: 'traces, exports and images need space: free some, or name a folder on another disk with --data',
  };
}

/** Memory that programs can still have. */
function checkMemory(): Finding {
  const free = availableMemory();
  const found = `${sizeText(free)} available`;
  if (free >= GOOD_MEMORY_BYTES) return ok('memory', found);
  return {
    check: 'memory',
    state: free < LEAST_MEMORY_BYTES ? 'failed' : 'warning',
    found,
    advice: 'the platform takes about 400 MB and each agent 200: end other programs',
  };
}

/** The port of the REST interface, which other addresses do not depend on. */
async function checkPort(): Promise<Finding> {
  const [host = '127.0.0.1', port = '8470'] = DEFAULT_LISTEN.split(':');
  const found = `${host}:${port}`;
  const code = await new Promise<string | undefined>((answer) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => answer(error.code ?? 'refused'));
    server.listen(Number(port), host, () => server.close(() => answer(undefined)));
  });
  if (code === undefined) return ok('port', `${found} is free`);
  return {
    check: 'port',
    state: 'warning',
    found: `${found} cannot be listened on (${code})`,
    advice: 'another program has it: end that, or start with --listen 127.0.0.1:0, which takes a free one',
  };
}

/** Checks for user namespaces, which let pods have files of their own. */
async function checkUserNamespaces(): Promise<Finding> {
  const check = 'user namespaces';
  const advice =
    'pods with volumes are refused without them: install util-linux, set sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0';
  if (process.platform !== 'linux')
    return {
      check,
      state: 'warning',
      found: `${process.platform} has none`,
      advice: 'pods with volumes need Linux',
    };
  try {
    const args = ['--user', '--map-root-user', '--mount', '--propagation', 'private', '--', 'true'];
    await promisify(execFile)('unshare', args, { timeout: ANSWER_MS });
    return ok(check, 'can be made');
  } catch (error) {
    return { check, state: 'warning', found: lastLine(error), advice };
  }
}

/** A program that is asked for its version. @param advice names the features that need it, and its source */
async function checkProgram(check: string, advice: string): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)(check, ['--version'], { timeout: ANSWER_MS });
    return ok(check, stdout.trim().split('\n')[0] ?? '');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { check, state: 'warning', found: isMissing ? 'not installed' : lastLine(error), advice };
  }
}

/** An interpreter for agents in Python. */
async function checkPython(): Promise<Finding> {
  const { findPython } = await import('#lib/image-store');
  try {
    const { version, path } = await findPython(undefined);
    return ok('python', `${version} (${path})`);
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return {
      check: 'python',
      state: 'warning',
      found: 'no Python 3.10 or newer',
      advice: 'agents in Python need it (Debian: apt-get install python3 python3-venv)',
    };
  }
}

/** The folder, or what of the way to it exists. */
function nearest(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    try {
      statfsSync(at);
      return at;
    } catch (error) {
      if (dirname(at) === at) throw error;
    }
  }
}

/** Memory that Linux can give without swapping; elsewhere the unused memory. */
function availableMemory(): number {
  try {
    const [, kilobytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
    return kilobytes === undefined ? freemem() : Number(kilobytes) * 1_024;
  } catch {
    return freemem();
  }
}

function sizeText(bytes: number): string {
  return bytes >= 1_073_741_824
    ? `${(bytes / 1_073_741_824).toFixed(1)} GB`
    : `${Math.floor(bytes / 1_048_576)} MB`;
}

function lastLine(error: unknown): string {
  const { stderr = '' } = error as { readonly stderr?: string };
  return stderr.trim().split('\n').at(-1) || errorText(error);
}
