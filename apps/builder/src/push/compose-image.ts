import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError } from '../build-error.js';
import { type Command, NOT_FOUND, runCommand } from '../run-command.js';

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
export function layoutOf(folder: string): string {
  return `oci:${join(folder, 'layout')}:${TAG}`;
}

/**
 * Puts a layer with the content upon the base in the layout. Removes the content, whose bytes are in the
 * layer.
 * @returns the digest of the image's manifest
 * @throws BuildError
 */
export async function composeImage(composition: Composition): Promise<string> {
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
