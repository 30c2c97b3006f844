import { visibleText } from '#lib/command-line';

/** Writes text on standard output; names, states and errors in it may be of others, and a terminal obeys what it reads. */
export function print(text: string): void {
  process.stdout.write(visibleText(text));
}
