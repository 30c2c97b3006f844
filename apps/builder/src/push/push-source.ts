import { mkdirSync, readFileSync, rmSync } from 'node:fs';
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
import { type Command, NOT_FOUND, runCommand } from '../run-command.js';
import { PUSH_CONFIG } from './config.js';
import { Registry } from './registry.js';

/** No time of the build is in an image: the same content upon the same base has the same digest. */
const BEGINNING = '1970-01-01T00:00:00Z';
const TAG = 'image';

interface Composition {
  /** Holds the layout, and the layer while it is made. */
  readonly folder: string;
  /** Becomes `/agent`. */
  readonly content: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly common: Required<Pick<Command, 'signal' | 'maxFileBytes'>>;
}

/** The image in the layout, as skopeo names it. */
function layoutOf(folder: string): string {
  return `oci:${join(folder, 'layout')}:${TAG}`;
}

/**
 * Puts a layer with the content upon the base in the layout. Removes the content, whose bytes are in the
 * layer.
 * @returns the digest of the image's manifest
 * @throws BuildError
 */
async function composeImage(composition: Composition): Promise<string> {
  const { folder, content, labels } = composition;
  const layer = join(folder, 'layer.tar');
  const image = ['--image', `${join(folder, 'layout')}:${TAG}`];
  await perform(composition, 'tar', [
    '--create',
    '--file',
    layer,
    '--directory',
    content,
    '--format=posix',
    '--sort=name',
    '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime',
    '--mtime=@0',
    // names alone, not the goals of links
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--transform=flags=r;s,^\\./\\{0\\,1\\},agent/,',
    '.',
  ]);
  rmSync(content, { recursive: true, force: true });
  const history = [
    '--history.created',
    BEGINNING,
    '--history.created_by',
    'agentplane: the folder of the agent',
  ];
  await perform(composition, 'umoci', ['raw', 'add-layer', ...image, ...history, layer]);
  rmSync(layer);
  const labelled = Object.entries(labels).flatMap(([key, value]) => ['--config.label', `${key}=${value}`]);
  await perform(composition, 'umoci', [
    'config',
    ...image,
    '--no-history',
    '--created',
    BEGINNING,
    '--config.workingdir',
    '/agent',
    ...labelled,
  ]);
  return digestOf(join(folder, 'layout'));
}

async function perform(
  { folder, common }: Composition,
  program: string,
  args: readonly string[],
): Promise<void> {
  const code = await runCommand({ program, args, folder, ...common });
  if (code === NOT_FOUND)
    throw new BuildError(`${program} could not be started; use the image of the builder`);
  if (code !== 0)
    throw new BuildError(`making the image failed: ${program} ended with exit code ${code}; see the log`);
}

function digestOf(layout: string): string {
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
    readonly manifests?: readonly {
      readonly digest?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    }[];
  };
  const found = index.manifests?.find(
    ({ annotations }) => annotations?.['org.opencontainers.image.ref.name'] === TAG,
  );
  if (found?.digest === undefined) throw new BuildError('making the image failed: its layout names no image');
  return found.digest;
}

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
