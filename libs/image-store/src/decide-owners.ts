import { TerminalError } from '#lib/errors';
import type { ImageEntry } from './image-entries.js';
import { workspaceNames } from './workspace-names.js';

/**
 * Decides which namespaces have a name after it was added; undefined for all. Without a request it keeps its
 * present ones: adding a new state of an image must not open it.
 * @param before the name as it is; undefined when it is new
 * @param wanted the namespaces to add it for; undefined when none are named
 * @throws TerminalError when a namespace would lose the name
 */
export function decideOwners(
  name: string,
  before: ImageEntry | undefined,
  wanted: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!wanted) return before?.namespaces;
  if (before && !before.namespaces)
    throw new TerminalError(
      'ImageShared',
      `image ${name} belongs to every workspace; choose another name for one of ${workspaceNames(wanted)}`,
    );
  const losing = before?.namespaces?.filter((one) => !wanted.includes(one)) ?? [];
  if (losing.length > 0)
    throw new TerminalError(
      'ImageOfOthers',
      `image ${name} belongs to workspace ${workspaceNames(losing)}; name it as well, or choose another name`,
    );
  return [...new Set(wanted)].sort();
}
