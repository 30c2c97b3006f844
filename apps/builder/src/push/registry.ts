import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { BuildError } from '../build-error.js';
import { print } from '../print.js';
import { type Command, NOT_FOUND, runCommand } from '../run-command.js';
import type { PushConfig } from './config.js';
import { RegistryUnavailableError, registryTrouble } from './registry-trouble.js';

/** Attempts at a registry that is unavailable; afterwards the build gives its place back. */
const PAUSES_MS = [2_000, 4_000, 8_000, 16_000, 32_000, 60_000];

interface RegistryTools {
  readonly config: PushConfig;
  readonly clock: Clock;
  /** Folder of certificates. */
  readonly folder: string;
  readonly common: Required<Pick<Command, 'signal' | 'maxFileBytes'>>;
}

/** Transfers of images between registries and a layout on the disk, by skopeo. */
export class Registry {
  readonly #tools: RegistryTools;
  readonly #certificates: string | undefined;

  constructor(tools: RegistryTools) {
    this.#tools = tools;
    const { ca } = tools.config;
    if (ca === undefined) return;
    this.#certificates = join(tools.folder, 'certificates');
    mkdirSync(this.#certificates, { recursive: true });
    writeFileSync(join(this.#certificates, 'ca.crt'), ca);
  }

  /** @param layout `oci:FOLDER:TAG`. @throws BuildError */
  async fetch(image: string, layout: string): Promise<void> {
    const args = [...this.#accessOf('src', image), `docker://${image}`, layout];
    await this.#copy(`fetching the base ${image}`, image, args);
  }

  /** @throws BuildError */
  async push(layout: string, image: string): Promise<void> {
    const args = [...this.#accessOf('dest', image), '--preserve-digests', layout, `docker://${image}`];
    await this.#copy(`pushing ${image}`, image, args);
  }

  /** The exceptions of a private registry are for it alone: a base may come from another. */
  #accessOf(side: 'src' | 'dest', image: string): readonly string[] {
    const { repository, isInsecure, authFile } = this.#tools.config;
    const isOwn = hostOf(image) === hostOf(repository);
    return [
      ...(authFile === undefined ? [] : [`--${side}-authfile`, authFile]),
      ...(isOwn && isInsecure ? [`--${side}-tls-verify=false`] : []),
      ...(isOwn && this.#certificates !== undefined ? [`--${side}-cert-dir`, this.#certificates] : []),
    ];
  }

  async #copy(what: string, image: string, args: readonly string[]): Promise<void> {
    const { clock, common } = this.#tools;
    for (const pauseMs of [...PAUSES_MS, undefined]) {
      print(what);
      const trouble = await this.#attempt(what, image, args);
      if (!trouble) return;
      if (pauseMs === undefined || !(trouble instanceof RegistryUnavailableError)) throw trouble;
      print(`${trouble.message}; trying again in ${pauseMs / 1000} s`);
      await clock.sleep(pauseMs, common.signal);
    }
  }

  async #attempt(what: string, image: string, args: readonly string[]): Promise<BuildError | undefined> {
    const { folder, common } = this.#tools;
    let errors = '';
    const code = await runCommand({
      // signatures are not looked at: bases are the platform's own, by their tag
      program: 'skopeo',
      args: ['--insecure-policy', 'copy', '--quiet', ...args],
      folder,
      ...common,
      onErrors: (text) => (errors = `${errors}${text}`.slice(-16_384)),
    });
    if (code === 0) return undefined;
    if (code === NOT_FOUND)
      return new BuildError('skopeo could not be started; use the image of the builder');
    return registryTrouble(what, image, errors);
  }
}

/** Part before the first slash. */
function hostOf(image: string): string {
  return image.split('/')[0] ?? '';
}
