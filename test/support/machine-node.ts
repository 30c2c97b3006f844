import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { repository } from './platform.js';

/** This machine as a node of a cluster that the platform does not run in, with images of the platform's own store. */
export class MachineNode {
  readonly #child: ChildProcess;
  #output = '';

  /**
   * @param folder its own data folder
   * @param images folder of the image store that it copies
   */
  constructor(folder: string, kubeconfig: string, images: string) {
    mkdirSync(folder, { recursive: true });
    cpSync(images, join(folder, 'images'), { recursive: true, verbatimSymlinks: true });
    this.#child = spawn(process.execPath, [join(repository, 'dist/apps/embedded/src/main.js')], {
      cwd: repository,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        ...process.env,
        AGENTPLANE_DATA: folder,
        AGENTPLANE_INSTALLATION: repository,
        AGENTPLANE_POD_USERS: 'none',
        KUBECONFIG: kubeconfig,
      },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
  }

  async ready(): Promise<void> {
    await waitFor(
      () => {
        if (this.#child.exitCode !== null) throw new Error(this.#output.slice(-4000));
        return this.#output.includes('node ready');
      },
      { what: 'the node' },
    );
  }

  /** As Ctrl-C does. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}
