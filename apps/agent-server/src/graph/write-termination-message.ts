import { writeFileSync } from 'node:fs';

/** Exit code of a server whose agent cannot be loaded: starting it again cannot help. */
export const EXIT_GRAPH_LOAD_FAILED = 78;

/** Kubernetes cuts termination messages at 4096 bytes. */
const MAX_MESSAGE_CHARS = 3_000;

/** Leaves the reason where the node looks for it. Where the file cannot be written the log has to do. */
export function writeTerminationMessage(path: string, reason: string, message: string): void {
  try {
    writeFileSync(path, JSON.stringify({ reason, message: message.slice(0, MAX_MESSAGE_CHARS) }));
  } catch {
    // not on a node
  }
}
