import { type ChildProcess, spawn } from 'node:child_process';
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { waitFor } from '#lib/testing';
import { TerminalScreen } from './testdata/terminal-screen.js';

const REPOSITORY = resolve(import.meta.dirname, '..', '..', '..');
/** In dist, from where `#lib/…` leads to the compiled libraries. */
const PROGRAM = join(REPOSITORY, 'dist', 'apps', 'tui', 'scene.mjs');
const GOLDEN = join(import.meta.dirname, 'testdata', 'screens');
const LINES = 24;

/** A program on a terminal of its own: `script` of util-linux makes the pseudo terminal, stty its size. */
class OnTerminal {
  readonly screen: TerminalScreen;
  readonly #child: ChildProcess;
  readonly ended: Promise<number | null>;
  written = 0;

  constructor(columns: number, environment: Readonly<Record<string, string>>) {
    this.screen = new TerminalScreen(columns, LINES);
    const command = `stty cols ${columns} rows ${LINES}; exec "${process.execPath}" "${PROGRAM}"`;
    this.#child = spawn('script', ['-qec', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...inheritedEnvironment(['PATH', 'HOME', 'LANG']),
        TERM: 'xterm',
        SHELL: '/bin/sh',
        ...environment,
      },
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.written += text.length;
      this.screen.write(text);
    });
    this.ended = new Promise((done) => this.#child.once('exit', done));
  }

  async shows(wanted: string | RegExp): Promise<string> {
    const fits = (): boolean =>
      typeof wanted === 'string' ? this.screen.text().includes(wanted) : wanted.test(this.screen.text());
    try {
      await waitFor(fits, { timeoutMs: 30_000, what: `the screen to show ${String(wanted)}` });
    } catch (error) {
      throw new Error(`${String(error)}; the screen is\n${this.screen.text()}`, { cause: error });
    }
    await this.#settled();
    return this.screen.text();
  }

  /** Until nothing was written for a while: a frame may come in several pieces. */
  async #settled(): Promise<void> {
    for (let before = -1; before !== this.written;) {
      before = this.written;
      await new Promise((done) => setTimeout(done, 200));
    }
  }

  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  async quit(): Promise<void> {
    this.press('\u0003');
    await this.ended;
  }
}

/** Compares with a golden file, which UPDATE_SCREENS=1 writes. */
function expectGolden(name: string, screen: string): void {
  const path = join(GOLDEN, `${name}.txt`);
  if (inheritedEnvironment(['UPDATE_SCREENS'])['UPDATE_SCREENS'] === '1') {
    mkdirSync(GOLDEN, { recursive: true });
    writeFileSync(path, `${screen}\n`);
  }
  expect(`${screen}\n`).toBe(readFileSync(path, 'utf8'));
}

/** Keys, what the screen shows then, and the golden file’s name. */
const WALK: readonly (readonly [string, string | RegExp, string])[] = [
  ['', /weather +Ready/, 'deployments'],
  [':exports\r', /june +Started/, 'exports'],
  ['\r', /june-2026-06-02 +Started/, 'runs'],
  [':schedules\r', 'nightly', 'schedules'],
  [':dep', ' deployments ', 'prompt'],
  ['\u001b', /^ schedules/m, 'schedules'],
  [':pods\r', 'a deployment that serves has some', 'empty'],
  ['?', 'processes of agents', 'help'],
];

describe('the screens on a real terminal', () => {
  beforeAll(async () => {
    await build({
      entryPoints: [join(import.meta.dirname, 'testdata', 'main.ts')],
      outfile: PROGRAM,
      ...{ bundle: true, packages: 'external', platform: 'node', format: 'esm', jsx: 'automatic' },
    });
  });

  it.each([60, 120, 200])('equals its golden files at %d columns', async (columns) => {
    const terminal = new OnTerminal(columns, { FORCE_COLOR: columns === 60 ? '0' : '1' });
    try {
      for (const [keys, wanted, name] of WALK) {
        terminal.press(keys);
        expectGolden(`${name}-${columns}`, await terminal.shows(wanted));
      }
    } finally {
      await terminal.quit();
    }
  });

  it('writes nothing while nothing changes', async () => {
    const terminal = new OnTerminal(120, { FORCE_COLOR: '1' });
    await terminal.shows(/weather +Ready/);
    const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 1_500));
    await settle();
    const before = terminal.written;
    await settle();
    expect(terminal.written - before).toBe(0);
    await terminal.quit();
  });
});
