import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { requireSmall } from './read-small-file.js';
import { type TakeLimits, takeContent } from './take-content.js';

export interface BuiltFolder {
  /** What a build left. */
  readonly source: string;
  /** Path of the graph configuration in it. */
  readonly graphConfig: string;
  readonly limits: TakeLimits;
}

/**
 * Takes what a build left into a folder of the store. The file that was named as the graph configuration is the
 * `langgraph.json` of its folder then.
 * @returns `sha256:HEX` of the content, and the agent's folder in it
 */
export async function takeBuilt(
  { source, graphConfig, limits }: BuiltFolder,
  target: string,
): Promise<{ readonly digest: string; readonly agent: string }> {
  const digest = await takeContent(source, target, limits);
  const agent = join(target, dirname(graphConfig));
  const name = basename(graphConfig);
  if (name === 'langgraph.json') return { digest, agent };
  const named = join(agent, 'langgraph.json');
  await rm(named, { force: true, recursive: true });
  if (existsSync(join(agent, name))) {
    requireSmall(join(agent, name), 'NotAnAgent');
    await copyFile(join(agent, name), named);
  }
  // the same files with another configuration are another image
  const both = createHash('sha256').update(`${digest} ${graphConfig}`).digest('hex');
  return { digest: `sha256:${both}`, agent };
}

/** Whether packages are found from the agent's folder, in it or above it up to the root. */
export function hasPackages(root: string, agent: string): boolean {
  for (let folder = agent; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules'))) return true;
    if (folder === root || folder.length <= root.length) return false;
  }
}
