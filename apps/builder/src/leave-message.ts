import { writeFileSync } from 'node:fs';
import { formatTerminationMessage, type TerminationMessage } from '#lib/lifecycle';
import type { BuilderConfig } from './config.js';

/** Leaves a message for the controller. */
export function leaveMessage(
  { terminationMessagePath }: Pick<BuilderConfig, 'terminationMessagePath'>,
  message: TerminationMessage,
): void {
  try {
    writeFileSync(terminationMessagePath, formatTerminationMessage(message));
  } catch {
    // not in a pod: the log has to do
  }
}
