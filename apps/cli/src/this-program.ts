import { programWords } from '#lib/command-line';
import { INSTALLATION } from '#lib/data-folder';

/** Words by which a person starts this program again from the present folder. */
export function thisProgram(): string {
  return programWords({ here: process.cwd(), installation: INSTALLATION });
}
