import { visibleText } from '#lib/command-line';
import { findSecretFiles } from '#lib/image-store';

/** Names of files that tend to hold secrets, as one line for a terminal; undefined without any. */
export function secretNames(folder: string): string | undefined {
  const found = findSecretFiles(folder);
  return found.length === 0 ? undefined : visibleText(found.join(', ')).replaceAll(/[\n\t]/g, ' ');
}
