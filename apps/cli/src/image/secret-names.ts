import { visibleText } from '#lib/command-line';
import { findSecretFiles } from '#lib/image-store';

/** What tends to hold secrets in a folder, as one line for a terminal; undefined when nothing does. */
export function secretNames(folder: string): string | undefined {
  const found = findSecretFiles(folder);
  return found.length === 0 ? undefined : visibleText(found.join(', ')).replaceAll(/[\n\t]/g, ' ');
}
