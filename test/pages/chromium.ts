import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** Debian's Chromium, or the browser that the variable names. */
const EXECUTABLE = process.env.AGENTPLANE_TEST_CHROMIUM ?? 'chromium';

export const hasChromium = spawnSync(EXECUTABLE, ['--version']).status === 0;

type Json = Record<string, unknown>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: { readonly message: string };
}

const KEYS: Readonly<Record<string, number>> = {
  Enter: 13,
  End: 35,
  Home: 36,
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
};

/** One page of a headless browser, driven by its debugging pipe: no port is opened, no package is needed. */
export class Chromium {
  readonly #calls = new Map<number, (message: Message) => void>();
  readonly #waiting: { readonly method: string; readonly done: () => void }[] = [];
  /** What the browser reported: errors of scripts and violations of the page's policy. */
  readonly complaints: string[] = [];
  #next = 0;
  #session: string | undefined;
  #rest = '';

  private constructor(
    readonly process: ChildProcess,
    readonly folder: string,
  ) {
    (process.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => this.#take(text));
  }

  static async start(): Promise<Chromium> {
    const folder = await mkdtemp(join(tmpdir(), 'chromium-'));
    const flags = [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
    ];
    const child = spawn(
      EXECUTABLE,
      [...flags, '--remote-debugging-pipe', `--user-data-dir=${folder}`, 'about:blank'],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
    );
    const browser = new Chromium(child, folder);
    const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true });
    browser.#session = sessionId as string;
    for (const domain of ['Page', 'Runtime', 'Log']) await browser.send(`${domain}.enable`);
    return browser;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await ended;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  send(method: string, params: Json = {}): Promise<Json> {
    const id = ++this.#next;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result ?? {}),
      );
      const session = this.#session === undefined ? {} : { sessionId: this.#session };
      (this.process.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    });
  }

  /** Resolves when the page that this leads to is loaded. */
  async loading(act: () => Promise<unknown>): Promise<void> {
    const loaded = new Promise<void>((done) => this.#waiting.push({ method: 'Page.loadEventFired', done }));
    await act();
    await loaded;
  }

  open(url: string): Promise<void> {
    return this.loading(() => this.send('Page.navigate', { url }));
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const code = { key, code: key, windowsVirtualKeyCode: KEYS[key] };
      const text = key === 'Enter' ? { text: '\r' } : {};
      await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...code, ...text });
      await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...code });
    }
  }

  /** The value that a promise of the page resolves to. */
  resolve(expression: string): Promise<unknown> {
    return this.#evaluate(expression, true);
  }

  /** The value of an expression of the page. */
  read(expression: string): Promise<unknown> {
    return this.#evaluate(expression, false);
  }

  async #evaluate(expression: string, awaitPromise: boolean): Promise<unknown> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise,
    });
    if (exceptionDetails) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return (result as { readonly value?: unknown }).value;
  }

  async show({
    width,
    scheme,
  }: {
    readonly width: number;
    readonly scheme: 'light' | 'dark';
  }): Promise<void> {
    const size = { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 };
    await this.send('Emulation.setDeviceMetricsOverride', size);
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.send('Emulation.setEmulatedMedia', { features });
  }

  /** Chooses a link or a button, and waits for the page that it leads to. */
  choose(selector: string): Promise<void> {
    return this.loading(() => this.read(`document.querySelector(${JSON.stringify(selector)}).click()`));
  }

  /** Writes what is shown as a picture, where a folder for pictures is named. */
  async picture(name: string): Promise<void> {
    const folder = process.env.AGENTPLANE_TEST_PICTURES;
    if (folder === undefined) return;
    const { data } = await this.send('Page.captureScreenshot', {
      format: 'png',
      captureBeyondViewport: true,
    });
    await writeFile(join(folder, `${name}.png`), Buffer.from(data as string, 'base64'));
  }

  #take(text: string): void {
    const parts = (this.#rest + text).split('\0');
    this.#rest = parts.pop() ?? '';
    for (const part of parts) this.#hear(JSON.parse(part) as Message);
  }

  #hear(message: Message): void {
    if (message.id !== undefined) {
      this.#calls.get(message.id)?.(message);
      this.#calls.delete(message.id);
    }
    if (message.method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(message.params));
    const entry = message.params?.['entry'] as { readonly level: string; readonly text: string } | undefined;
    if (message.method === 'Log.entryAdded' && entry?.level === 'error') this.complaints.push(entry.text);
    const at = this.#waiting.findIndex(({ method }) => method === message.method);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.done();
  }
}
