import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { TerminalError } from '#lib/errors';

const MAX_BYTES = 1_048_576;

/**
 * The text of a file of 1 MiB at most. Files of a repository are parsed in the process of the platform, where
 * a parsed text takes many times its size.
 * @param reason of the error
 * @throws TerminalError for a larger one
 */
export function readSmallFile(path: string, reason: string): string {
  requireSmall(path, reason);
  return readFileSync(path, 'utf8');
}

/** @throws TerminalError when the file has more than 1 MiB */
export function requireSmall(path: string, reason: string): void {
  const { size } = statSync(path);
  if (size > MAX_BYTES)
    throw new TerminalError(
      reason,
      `${basename(path)} has ${size} bytes; ${MAX_BYTES} are the most that are read`,
    );
}
