import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { type ProgramSpec, runCommandLine } from '#lib/command-line';
import { repository } from '../support/platform.js';

/** How a command ended. */
export interface Ending {
  readonly code: number;
  readonly output: string;
  readonly complaint: string;
}

export interface Surroundings {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
  /** Then a process of its own is killed; 90 s by default. */
  readonly timeoutMs?: number;
}

const PROGRAM = join(repository, 'bin', 'agentplane.js');
/** Commands of another program, which gets the descriptors of its parent. */
const OF_OTHERS = new Set(['up', 'backup', 'restore', 'migrate', 'dashboard']);

/**
 * Runs `agentplane WORDS` in this process, which costs a tenth of a start of the program. Commands of other programs, and
 * those that read the file `-` (by its descriptor), run in one of their own.
 */
export function agentplane(words: readonly string[], surroundings: Surroundings = {}): Promise<Ending> {
  return OF_OTHERS.has(words[0] ?? '') || words.includes('-')
    ? agentplaneProcess(words, surroundings)
    : runHere(words, surroundings);
}

/** Runs `agentplane WORDS` as a person would. */
export function agentplaneProcess(
  words: readonly string[],
  surroundings: Surroundings = {},
): Promise<Ending> {
  const { environment = {}, input, cwd = repository, timeoutMs = 90_000 } = surroundings;
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [PROGRAM, ...words],
      { timeout: timeoutMs, cwd, env: { ...process.env, ...environment }, maxBuffer: 64 << 20 },
      (error, output, complaint) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, output, complaint }),
    );
    child.stdin?.end(input ?? '');
  });
}

/** Members of `process` that a command sees as its own. */
interface Own {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: () => string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Those of the command that runs in this asynchronous context. */
const running = new AsyncLocalStorage<Own>();

/** Thrown in place of the end of the process. */
class Ended extends Error {
  constructor(readonly code: number) {
    super(`ended with ${code}`);
  }
}

/** Gives each command that runs here its own streams, variables, folder and end. */
function divertProcess(): void {
  for (const name of ['stdin', 'stdout', 'stderr', 'env', 'cwd'] as const) {
    const found = Object.getOwnPropertyDescriptor(process, name);
    let outside = (): unknown => (found?.get ? found.get.call(process) : (found?.value as unknown));
    Object.defineProperty(process, name, {
      configurable: true,
      enumerable: true,
      get: () => running.getStore()?.[name] ?? outside(),
      // tests set the variables of this process
      set: (value: unknown) => (outside = () => value),
    });
  }
  const { exit } = process;
  process.exit = (code) => {
    if (running.getStore()) throw new Ended(Number(code ?? 0));
    return exit(code);
  };
}

let program: Promise<ProgramSpec> | undefined;

async function loadProgram(): Promise<ProgramSpec> {
  divertProcess();
  const { COMMANDS: commands, GROUPS: groups } = await import('../../apps/cli/src/commands.js');
  const { reportError: report } = await import('../../apps/cli/src/report-error.js');
  return { about: '', version: '', commands, groups, report };
}

function writingTo(parts: string[]): Writable {
  return new Writable({
    write(part: Buffer, _encoding, done) {
      parts.push(part.toString());
      done();
    },
  });
}

async function runHere(
  words: readonly string[],
  { environment, input, cwd = repository }: Surroundings,
): Promise<Ending> {
  const spec = await (program ??= loadProgram());
  const [output, complaint]: [string[], string[]] = [[], []];
  const own: Own = {
    env: { ...process.env, ...environment },
    cwd: () => cwd,
    stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
    stdout: writingTo(output),
    stderr: writingTo(complaint),
  };
  const code = await running.run(own, () =>
    runCommandLine(spec, words).then(
      () => 0,
      (error: unknown) => {
        if (error instanceof Ended) return error.code;
        throw error;
      },
    ),
  );
  return { code, output: output.join(''), complaint: complaint.join('') };
}

/** A process of it that is left running: its output so far, and its end by Ctrl-C. */
export function startAgentplane(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): {
  output(): string;
  stop(): Promise<number | null>;
} {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    cwd: repository,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return {
    output: () => output,
    stop() {
      child.kill('SIGINT');
      return ended;
    },
  };
}
