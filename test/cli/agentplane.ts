import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
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
  /** Then it is killed; 90 s by default. */
  readonly timeoutMs?: number;
}

const PROGRAM = join(repository, 'bin', 'agentplane.js');

/** Runs `agentplane WORDS` as a person would. */
export function agentplane(words: readonly string[], surroundings: Surroundings = {}): Promise<Ending> {
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

/** The same, left running: its output so far, and its end by Ctrl-C. */
export function startAgentplane(words: readonly string[]): {
  output(): string;
  stop(): Promise<number | null>;
} {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    cwd: repository,
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
