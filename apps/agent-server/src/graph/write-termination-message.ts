import { writeFileSync } from 'node:fs';
import { formatTerminationMessage } from '#lib/lifecycle';

/** Leaves the reason where the node looks for it. Where the file cannot be written the log has to do. */
export function writeTerminationMessage(path: string, reason: string, message: string): void {
  try {
    writeFileSync(path, formatTerminationMessage({ reason, message }));
  } catch {
    // not on a node
  }
}
