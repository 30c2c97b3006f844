import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { waitFor } from '#lib/testing';
import { findKubectl } from '../support/kubectl.js';
import { type Platform, repository, startPlatform } from '../support/platform.js';
import type { PageBlock } from './page-blocks.js';
import { ShellSession } from './shell-session.js';

const BLOCK_MS = 120_000;
/** Where `agentplane dev` serves when nothing else does; pages name it. */
const DEV_URL = 'http://127.0.0.1:2024';

/**
 * A person who follows a page: a folder that has what the repository has for them, a platform over its `.agentplane`,
 * and one terminal into which blocks are pasted as they stand, in their order.
 */
export class PageReader {
  readonly folder = mkdtempSync(join(tmpdir(), 'agentplane-reader-'));
  readonly #terminals: ShellSession[] = [];
  #own: Platform | undefined;
  #terminal: ShellSession | undefined;
  #devUrl = DEV_URL;

  /**
   * @param given names of variables that the reader has set
   * @param programs folders of programs that the reader has installed
   */
  constructor(
    private readonly given: readonly string[] = [],
    private readonly programs: readonly string[] = [],
  ) {}

  /**
   * Opens the terminal, over a platform of the reader's own when none is given.
   * @param dataFolder of a platform that runs; it takes the place of `.agentplane`
   */
  async begin(dataFolder?: string): Promise<void> {
    mkdirSync(join(this.folder, 'node_modules', '.bin'), { recursive: true });
    symlinkSync(
      join(repository, 'bin', 'agentplane.js'),
      join(this.folder, 'node_modules', '.bin', 'agentplane'),
    );
    for (const name of ['examples', join('node_modules', 'langsmith')])
      symlinkSync(join(repository, name), join(this.folder, name));
    const place = join(this.folder, '.agentplane');
    if (dataFolder === undefined) this.#own = await startPlatform(place);
    else symlinkSync(dataFolder, place);
    this.#terminal = this.#open();
  }

  /**
   * Pastes a block, and again until it shows what the page promises: a trace is there within seconds of its run, and
   * `dev` loads a change within some. One that stays gets a terminal of its own.
   */
  async paste(block: PageBlock): Promise<void> {
    await (block.stays ? this.#leaveRunning(block) : this.#pasteUntilRight(block));
  }

  async end(): Promise<void> {
    for (const one of this.#terminals) await one.close();
    await this.#own?.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #open(): ShellSession {
    const { AGENTPLANE_CONTEXT: _context, KUBECONFIG: _kubeconfig, PATH = '', ...environment } = process.env;
    const kubectl = findKubectl();
    const made = new ShellSession(this.folder, {
      ...environment,
      ...Object.fromEntries(this.given.map((name) => [name, 'given'])),
      PATH: [...this.programs, ...(kubectl === undefined ? [] : [dirname(kubectl)]), PATH].join(delimiter),
      XDG_CONFIG_HOME: join(this.folder, 'config'),
    });
    this.#terminals.push(made);
    return made;
  }

  async #pasteUntilRight({ commands, shows }: PageBlock): Promise<void> {
    const own = commands.replaceAll(DEV_URL, this.#devUrl);
    await waitFor(
      async () => {
        const { output, failed } = (await this.#terminal?.run(own, BLOCK_MS)) ?? { output: '', failed: own };
        const isRight = failed === '' && (shows === undefined || output.includes(shows));
        if (!isRight) process.stderr.write(`${failed}\n${output}\n`);
        return isRight;
      },
      {
        timeoutMs: BLOCK_MS,
        intervalMs: 2_000,
        what: `the block to show ${shows ?? 'no failure'}:\n${own}`,
      },
    );
  }

  async #leaveRunning({ commands, shows = '' }: PageBlock): Promise<void> {
    const own = this.#open();
    own.start(commands);
    await waitFor(() => own.output.includes(shows), {
      timeoutMs: BLOCK_MS,
      what: `the block to show ${shows}:\n${commands}`,
    });
    this.#devUrl = /http:\/\/127\.0\.0\.1:\d+/.exec(own.output)?.[0] ?? this.#devUrl;
  }
}
