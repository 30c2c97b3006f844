import { writeFileSync } from 'node:fs';
import { formatTerminationMessage } from '#lib/lifecycle';

/**
 * Writes the reason to the file that the node reads. When the file cannot be written, only the log has it.
 */
export function writeTerminationMessage(path: string, reason: string, message: string): void {
  try {
    writeFileSync(path, formatTerminationMessage({ reason, message }));
  } catch {
    // not on a node
  }
}
