// A shell on a pseudo terminal (`script` of util-linux makes it), and every screen that it shows.
import { spawn } from 'node:child_process';

const TYPING_MS = 30;
/** Output that comes within this time is one screen. */
const GATHER_MS = 70;

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export class RecordedTerminal {
  #child;
  #screen;
  #frames = [];
  #timer;

  constructor(TerminalScreen, { columns, rows, cwd, environment }) {
    this.#screen = new TerminalScreen(columns, rows);
    const command = `stty cols ${columns} rows ${rows}; exec bash --noprofile --norc`;
    this.#child = spawn('script', ['-qec', command, '/dev/null'], {
      ...{ cwd, env: environment, stdio: ['pipe', 'pipe', 'inherit'] },
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text) => {
      this.#screen.write(text);
      this.#timer ??= setTimeout(() => this.#take(), GATHER_MS);
    });
  }

  #take() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#frames.push({ atMs: performance.now(), lines: this.#screen.styledLines() });
  }

  /** Screens so far. */
  get frames() {
    this.#take();
    return this.#frames;
  }

  /** Forgets the screens so far, such as those of a shell that starts. */
  begin() {
    this.#frames = [];
  }

  async shows(pattern, timeoutMs = 180_000) {
    for (const end = performance.now() + timeoutMs; !pattern.test(this.#screen.text()); await sleep(50))
      if (performance.now() > end)
        throw new Error(`${pattern} is not on the screen:\n${this.#screen.text()}`);
  }

  /** As a person types; `\r` is Enter. */
  async type(keys) {
    for (const key of keys) {
      this.#child.stdin.write(key);
      await sleep(TYPING_MS);
    }
  }

  /** As a person pastes: all at once, then Enter after a look. */
  async paste(keys) {
    this.#child.stdin.write(keys.replace(/\r$/, ''));
    await sleep(700);
    this.#child.stdin.write('\r');
    await sleep(300);
  }

  async wait(ms) {
    await sleep(ms);
  }

  /** Ctrl-C, and its end. */
  async close() {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.write('\u0003');
    await sleep(500);
    this.#child.stdin.write('exit\r');
    await ended;
  }
}
