import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REGISTRY_UNAVAILABLE } from '#lib/lifecycle';
import type { Clock } from '#lib/time';
import { BuildError } from '../build-error.js';
import { print } from '../print.js';
import { type Command, NOT_FOUND, runCommand } from '../run-command.js';
import type { PushConfig } from './config.js';

/** The registry does not answer, or is too busy: another attempt may succeed. */
class RegistryUnavailableError extends BuildError {
  override readonly name = 'RegistryUnavailableError';
  override readonly reason = REGISTRY_UNAVAILABLE;
}

const STATUS = 'status(?: code)?(?: from registry)?:? ';
const REFUSED = new RegExp(
  `unauthorized|authentication required|denied|forbidden|invalid username/password|${STATUS}40[13]`,
  'i',
);
const AWAY = new RegExp(
  `dial tcp|connection re(?:fused|set)|no such host|time(?:d )?out|\\bEOF\\b|broken pipe|too ?many ?requests|${STATUS}(?:429|5\\d\\d)`,
  'i',
);
const MISSING = /manifest unknown|name unknown|not known|not found/i;
const MAX_TEXT = 600;

/**
 * Error for a transfer that failed. skopeo has one exit code for all failures, and reports a registry's
 * answer only in text.
 * @param what was attempted, as `pushing IMAGE`
 * @param image a reference, whose own words count for nothing
 * @param errors output of skopeo
 */
export function registryTrouble(what: string, image: string, errors: string): BuildError {
  const message = lastMessage(errors);
  const [, name = image] = /^(.+?)(?::[^:/]+|@.+)?$/.exec(image) ?? [];
  const text = message.replaceAll(name, 'IMAGE');
  // an address refused by a proxy also matches as unavailable, so it is looked for first
  if (AWAY.test(text))
    return new RegistryUnavailableError(`${what} failed: the registry is unavailable: ${message}`);
  if (REFUSED.test(text))
    return new BuildError(
      `${what} was refused: ${message}; correct the Secret that builds.pushSecret of the chart names, and what its user may do`,
    );
  if (MISSING.test(text)) return new BuildError(`${what} failed: it does not exist: ${message}`);
  return new BuildError(`${what} failed: ${message}`);
}

/** The message of `time="…" level=fatal msg="…"`. */
function lastMessage(errors: string): string {
  const lines = errors.split('\n').filter((line) => line.trim() !== '');
  const last = lines.at(-1) ?? 'skopeo ended without a reason';
  const quoted = /msg=("(?:[^"\\]|\\.)*")/.exec(last)?.[1];
  return unquoted(quoted) ?? last.slice(0, MAX_TEXT);
}

function unquoted(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value.slice(0, MAX_TEXT) : undefined;
  } catch {
    return text.slice(0, MAX_TEXT); // an escape that only Go has
  }
}

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
  readonly #certificates: string | undefined;

  constructor(private readonly tools: RegistryTools) {
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
    const { repository, isInsecure, authFile } = this.tools.config;
    const isOwn = hostOf(image) === hostOf(repository);
    return [
      ...(authFile === undefined ? [] : [`--${side}-authfile`, authFile]),
      ...(isOwn && isInsecure ? [`--${side}-tls-verify=false`] : []),
      ...(isOwn && this.#certificates !== undefined ? [`--${side}-cert-dir`, this.#certificates] : []),
    ];
  }

  async #copy(what: string, image: string, args: readonly string[]): Promise<void> {
    const { clock, common } = this.tools;
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
    const { folder, common } = this.tools;
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
