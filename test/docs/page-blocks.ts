import { readFileSync } from 'node:fs';

/** The first block of the README and of the tutorial; tests start the platform on a port that is free instead. */
export const START = 'npm ci --omit=dev && npm start\n';

/** A block of commands in a page, as a reader would paste it. */
export interface PageBlock {
  readonly commands: string;
  /** It runs until Ctrl-C, in a terminal of its own. */
  readonly stays: boolean;
  /** What the page promises that its output has. */
  readonly shows: string | undefined;
}

/** A fenced block of a page, with the words behind its fence. */
export interface FencedBlock {
  readonly info: string;
  readonly text: string;
  /** Where its text begins. */
  readonly line: number;
  readonly shows: string | undefined;
}

/** Every fenced block of a page, in their order. */
export function fencedBlocks(path: string): readonly FencedBlock[] {
  const page = readFileSync(path, 'utf8');
  // an opening fence takes its closing one with it, so that no closing one is read as the next opening one
  const found = page.matchAll(/^```([^`\n]*)\n([^]*?)^```\n?(?:\n<!-- shows: (.*) -->\n)?/gm);
  return [...found].map(({ index, 1: info = '', 2: text = '', 3: shows }) => ({
    info,
    text,
    shows,
    line: page.slice(0, index).split('\n').length + 1,
  }));
}

/**
 * The blocks of commands of a page, in their order: those without a language, and `sh`. `sh stays` marks one that runs
 * on, a comment `<!-- shows: TEXT -->` below a block what its output has; no reader sees either. A program whose fence
 * names a file is saved as that.
 */
export function pageBlocks(path: string): readonly PageBlock[] {
  return fencedBlocks(path)
    .filter(({ info }) => /^(?:|(?:sh|bash)(?: stays)?|\S+ \S+\.(?:py|ts))$/.test(info))
    .map(({ info, text, shows }) => {
      const [, file] = /^\S+ (\S+\.\w+)$/.exec(info) ?? [];
      const commands = file === undefined ? text : `cat > ${file} <<'END'\n${text}END\n`;
      return { commands, stays: info.endsWith(' stays'), shows };
    });
}
