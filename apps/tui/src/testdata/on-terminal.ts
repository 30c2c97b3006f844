import { type ChildProcess, spawn } from 'node:child_process';
import { expect } from '@jest/globals';
import { inheritedEnvironment } from '#lib/config';
import { quietFor, waitFor } from '#lib/testing';
import { TerminalScreen } from './terminal-screen.js';

const LINES = 24;

/** A program of Node on a terminal of its own: `script` of util-linux makes the pseudo terminal, stty its size. */
export class OnTerminal {
  readonly screen: TerminalScreen;
  readonly #child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** Every byte. */
  written = '';

  /** @param words path of the program and its arguments, without quotes in them */
  constructor(
    words: readonly string[],
    columns: number,
    environment: Readonly<Record<string, string>>,
    lines = LINES,
  ) {
    this.screen = new TerminalScreen(columns, lines);
    const program = [process.execPath, ...words].map((word) => `"${word}"`).join(' ');
    const command = `stty cols ${columns} rows ${lines}; exec ${program}`;
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
      this.written += text;
      this.screen.write(text);
    });
    this.ended = new Promise((done) => this.#child.once('exit', done));
  }

  /** Waits until the screen is a text, or it is clear that it will not be. */
  async becomes(wanted: string): Promise<void> {
    await waitFor(() => this.screen.text() === wanted).catch(() => undefined);
    expect(this.screen.text()).toBe(wanted);
  }

  /** The frame that stays on the screen for a while. */
  async settled(): Promise<string> {
    for (;;) {
      const before = this.screen.text();
      await quietFor(300);
      if (before !== '' && this.screen.text() === before) return before;
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
