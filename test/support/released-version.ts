import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './platform.js';
import { buildImages } from './real-cluster.js';

/** What a cluster got with a version that was released: its chart, and images of its sources. */
export class ReleasedVersion {
  readonly #folder: string;

  /**
   * @param commit as `findReleased` answers it
   * @param folder for its sources
   */
  constructor(
    readonly version: string,
    commit: string,
    folder: string,
  ) {
    this.#folder = join(folder, `release-${version}`);
    mkdirSync(this.#folder);
    const archive = git('archive', commit);
    execFileSync('tar', ['-x', '-C', this.#folder], { input: archive });
  }

  get chart(): string {
    return join(this.#folder, 'charts', 'agentplane');
  }

  /**
   * The archive of its images, which is built once: these sources do not change.
   * @param home of the programs of Kubernetes, which keeps it
   */
  buildImages(home: string): string {
    const kept = join(home, 'releases', this.version);
    const archive = buildImages(this.#folder, kept);
    // what another build would begin with; there is none
    for (const name of ['storage', 'run'])
      rmSync(join(kept, 'images', name), { recursive: true, force: true });
    return archive;
  }
}

/** The commit of a released version, or undefined in a clone without its history. */
export function findReleased(version: string): string | undefined {
  const tagged = git('tag', '--list', `v${version}`).toString().trim();
  if (tagged !== '') return tagged;
  // the release is what gave the package its version; the last line is the oldest such change
  const set = git('log', '--format=%H', `-S"version": "${version}"`, '--', 'package.json');
  return set
    .toString()
    .trim()
    .split('\n')
    .findLast((line) => line !== '');
}

function git(...words: readonly string[]): Buffer {
  return execFileSync('git', words, { cwd: repository, maxBuffer: 256 << 20 });
}
