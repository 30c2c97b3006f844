import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { TerminalError, WaitingError } from '#lib/errors';
import { REASON } from '#lib/resources';
import type { ClosedContents } from './closed-contents.js';
import { linkPlatform } from './dependencies/install-dependencies.js';
import { pinnedReference } from './image-entries.js';
import { inPartial, removePartials, removeTree } from './partial-folder.js';
import { linkInterpreter } from './python/closed-environment.js';
import { requireImportable, requireLibraries, requireSmall } from './require-libraries.js';
import { takeContent, type TakeLimits } from './take-content.js';

/** Errors of the machine and of the moment: another attempt may succeed. */
const PASSING: ReadonlySet<string> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
  'EBUSY',
  'EINTR',
  'EROFS',
]);

/**
 * Does something with the result of a build. A file that is missing there, or is a folder, stays so however
 * often it is tried.
 * @param folders folders to which paths in messages are relative
 * @throws TerminalError for faults of the result; passing errors of the machine unchanged
 */
async function refusingWhatWasBuilt<T>(folders: readonly string[], perform: () => Promise<T>): Promise<T> {
  try {
    return await perform();
  } catch (error) {
    if (error instanceof TerminalError || error instanceof WaitingError) throw error;
    const { code = 'unknown error', syscall, path } = error as NodeJS.ErrnoException;
    if (PASSING.has(code)) throw error;
    const what = syscall === undefined ? code : `${syscall} of ${placeOf(path, folders)} failed with ${code}`;
    throw new TerminalError(
      REASON.buildRefused,
      `the result of the build cannot become an image: ${what}; look at what the commands make of the repository`,
      { cause: error },
    );
  }
}

/** The path in the repository: where the machine keeps it is its own affair. */
function placeOf(path: string | undefined, folders: readonly string[]): string {
  const folder = folders.find((one) => path?.startsWith(`${one}/`));
  return folder === undefined || path === undefined ? 'its folder' : path.slice(folder.length + 1);
}

/** Result of a build and its recipient. */
export interface BuiltFolder {
  readonly source: string;
  /** Path of the graph configuration in it. */
  readonly graphConfig: string;
  readonly limits: TakeLimits;
  /** Has it, and no other. */
  readonly namespace: string;
  /** The uid of the cluster whose revisions name it: it is removed once none of these does. */
  readonly cluster: string;
  /** Limit for all built images of the namespace, this one included. */
  readonly maxNamespaceBytes: number;
}

/**
 * Stores the result of an untrusted build.
 * @param name of the reference, for people
 * @returns the reference
 * @throws TerminalError when it cannot be an image, or its namespace has too many
 */
export async function storeBuilt(
  name: string,
  built: BuiltFolder,
  closed: ClosedContents,
  platformModules: string,
): Promise<string> {
  await closed.make();
  await removePartials(closed.folder);
  return await inPartial(closed.folder, async (partial) => {
    // also for a content that exists: it may be removed before this one is kept
    const { content, bytes, agent, interpreter } = await takeBuiltAgent(name, built, partial);
    if (interpreter === undefined && !hasPackages(partial, agent))
      await refusingWhatWasBuilt([partial], () => linkPlatform(agent, platformModules));
    const digest = digestOf([
      content,
      built.graphConfig,
      ...(interpreter === undefined ? [] : [interpreter]),
    ]);
    const { namespace, cluster, maxNamespaceBytes } = built;
    await closed.keepBuilt({ partial, digest, namespace }, { bytes, cluster }, (all) => {
      if (all > maxNamespaceBytes) throw tooManyBytes(bytes, all, maxNamespaceBytes);
    });
    return pinnedReference(name, digest);
  });
}

/** Content taken from a build. */
export interface TakenAgent {
  /** `sha256:HEX` of what was copied. */
  readonly content: string;
  /** Size of its files, and a block for each entry. */
  readonly bytes: number;
  /** The folder of the graph configuration in the copy. */
  readonly agent: string;
  /** Path of the Python that the environment of the copy leads to; undefined for graphs of another language. */
  readonly interpreter: string | undefined;
}

/**
 * Copies the result of an untrusted build into a folder, as an agent that can be run there.
 * @param name of the image, for messages
 * @throws TerminalError when it cannot be an image
 */
export async function takeBuiltAgent(
  name: string,
  built: Pick<BuiltFolder, 'source' | 'graphConfig' | 'limits'>,
  target: string,
): Promise<TakenAgent> {
  const taken = await refusingWhatWasBuilt([built.source, target], () => takeBuilt(built, target));
  const interpreter = await refusingWhatWasBuilt([target], async () => {
    const configuration = requireImportable(name, taken.agent);
    requireLibraries(configuration, taken.agent, target);
    const { python } = configuration;
    return python && (await linkInterpreter(taken.agent, python)).path;
  });
  return { ...taken, interpreter };
}

/**
 * Takes what a build left into a folder of the store. The file that was named as the graph configuration is the
 * `langgraph.json` of its folder then.
 * @returns `sha256:HEX` of the copy, the bytes of its files, and the agent's folder in it
 */
async function takeBuilt(
  { source, graphConfig, limits }: Pick<BuiltFolder, 'source' | 'graphConfig' | 'limits'>,
  target: string,
): Promise<{ readonly content: string; readonly bytes: number; readonly agent: string }> {
  const { digest: content, bytes } = await takeContent(source, target, limits);
  const agent = join(target, dirname(graphConfig));
  const name = basename(graphConfig);
  if (name !== 'langgraph.json') {
    const named = join(agent, 'langgraph.json');
    await removeTree(named);
    if (existsSync(join(agent, name))) {
      requireSmall(join(agent, name), 'NotAnAgent');
      await copyFile(join(agent, name), named);
    }
  }
  return { content, bytes, agent };
}

/**
 * Digest that never equals that of the same files added by a person: these get the packages of their lock
 * file, or an environment that images share; and with another configuration they are another image.
 */
function digestOf(parts: readonly string[]): string {
  return `sha256:${createHash('sha256')
    .update(JSON.stringify(['built', ...parts]))
    .digest('hex')}`;
}

/** True when packages are found from the agent's folder, in it or above it up to the root. */
function hasPackages(root: string, agent: string): boolean {
  for (let folder = agent; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules'))) return true;
    if (folder === root || folder.length <= root.length) return false;
  }
}

function tooManyBytes(bytes: number, all: number, max: number): TerminalError {
  return new TerminalError(
    REASON.buildRefused,
    `the image has ${megabytes(bytes)} MB, and with it the built images of this workspace would have ${megabytes(all)} MB, ` +
      `of which ${megabytes(max)} may be kept: delete deployments that are not needed, lower revisionHistoryLimit, ` +
      'or build less into the image, and request a new revision some minutes later',
  );
}

/** Rounded up. */
function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1_048_576);
}
