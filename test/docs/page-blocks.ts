import { readFileSync } from 'node:fs';

/** A block of commands in a page, as a reader would paste it. */
export interface PageBlock {
  readonly commands: string;
  /** It runs until Ctrl-C, in a terminal of its own. */
  readonly stays: boolean;
  /** What the page promises that its output has. */
  readonly shows: string | undefined;
}

/**
 * The blocks of commands of a page, in their order: those without a language, and `sh`. `sh stays` marks one that runs
 * on, a comment `<!-- shows: TEXT -->` below a block what its output has; no reader sees either.
 */
export function pageBlocks(path: string): readonly PageBlock[] {
  const found = readFileSync(path, 'utf8').matchAll(
    /^```(sh stays|sh|)\n([^]*?)^```\n(?:\n<!-- shows: (.*) -->\n)?/gm,
  );
  return [...found].map(([, info = '', commands = '', shows]) => ({
    commands,
    stays: info === 'sh stays',
    shows,
  }));
}
