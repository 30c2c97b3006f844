import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '#lib/config';
import { TerminalError } from '#lib/errors';
import { takeBuiltAgent } from '#lib/image-store';
import { IMAGE_PUSHED } from '#lib/lifecycle';
import { systemClock } from '#lib/time';
import { BuildError } from '../build-error.js';
import { type BuilderConfig, MAX_ENTRIES } from '../config.js';
import { leaveMessage } from '../leave-message.js';
import { print } from '../print.js';
import { composeImage, layoutOf } from './compose-image.js';
import { PUSH_CONFIG } from './config.js';
import { Registry } from './registry.js';

const MEGABYTE = 1_048_576;
/** Maximum size of a base, with its intermediate forms. */
const BASE_BYTES = 4096 * MEGABYTE;
const SHORT = 12;

/** Limit of the working folder: the content, its layer plain and packed, and the base. */
export function maxPushBytes({ imageMegabytes }: Pick<BuilderConfig, 'imageMegabytes'>): number {
  return 3 * imageMegabytes * MEGABYTE + BASE_BYTES;
}

/**
 * Makes an image of what the build left, pushes it, and leaves its reference with the digest as the message of the
 * container. Nothing of the repository is run: this container has the login of the registry.
 * @throws BuildError
 */
export async function pushSource(config: BuilderConfig, signal: AbortSignal): Promise<void> {
  const push = loadConfig(PUSH_CONFIG);
  const folder = process.cwd();
  const content = join(folder, 'content');
  for (const name of ['content', 'layout', 'layer.tar'])
    rmSync(join(folder, name), { recursive: true, force: true });
  mkdirSync(content);
  const common = { signal, maxFileBytes: maxPushBytes(config) };
  const { interpreter } = await take(push.source, config, content);
  const registry = new Registry({ config: push, clock: systemClock, folder, common });
  await registry.fetch(interpreter === undefined ? push.base : push.pythonBase, layoutOf(folder));
  const { commit, repository } = config;
  const labels = {
    ...(commit === undefined ? {} : { 'org.opencontainers.image.revision': commit }),
    ...(repository === undefined ? {} : { 'org.opencontainers.image.source': repository }),
  };
  const digest = await composeImage({ folder, content, labels, common });
  // another build of the commit may give another image, which must not take this one's tag
  const tag = `${commit?.slice(0, SHORT) ?? 'archive'}-${digest.replace('sha256:', '').slice(0, SHORT)}`;
  await registry.push(layoutOf(folder), `${push.repository}:${tag}`);
  const reference = `${push.repository}@${digest}`;
  print(`pushed ${push.repository}:${tag}, ${digest}`);
  leaveMessage(config, { reason: IMAGE_PUSHED, message: reference });
}

async function take(source: string, config: BuilderConfig, content: string) {
  const { graphConfig, imageMegabytes } = config;
  const limits = { maxBytes: imageMegabytes * MEGABYTE, maxEntries: MAX_ENTRIES };
  try {
    return await takeBuiltAgent('agent', { source, graphConfig, limits }, content);
  } catch (error) {
    if (error instanceof TerminalError) throw new BuildError(error.message, { cause: error });
    throw error;
  }
}
