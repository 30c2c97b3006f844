import { cellText, renderTable, visibleText } from '#lib/command-line';

/** Output format of a command. */
export type OutputFormat =
  | { readonly kind: 'table' }
  | { readonly kind: 'wide' }
  | { readonly kind: 'json' }
  | { readonly kind: 'yaml' }
  | { readonly kind: 'name' }
  | { readonly kind: 'jsonpath'; readonly template: string };

/** Formats that print one document. */
type DocumentFormat = Extract<OutputFormat, { kind: 'json' | 'yaml' | 'jsonpath' }>;

export function isDocument(format: OutputFormat): format is DocumentFormat {
  return format.kind === 'json' || format.kind === 'yaml' || format.kind === 'jsonpath';
}

/** Formats that are one word; `jsonpath=TEMPLATE` is the other. */
export const OUTPUT_WORDS = ['table', 'wide', 'json', 'yaml', 'name'] as const;

/** @throws Error that lists the formats */
export function parseOutputFormat(text: string): OutputFormat {
  const word = OUTPUT_WORDS.find((one) => one === text);
  if (word !== undefined) return { kind: word };
  const template = /^jsonpath=(.+)$/s.exec(text)?.[1];
  if (template !== undefined) return { kind: 'jsonpath', template };
  throw new Error(`Allowed choices are ${OUTPUT_WORDS.join(', ')}, jsonpath=TEMPLATE.`);
}

/** Writes text on standard output; names, states and errors in it may be of others, and a terminal obeys what it reads. */
export function print(text: string): void {
  process.stdout.write(visibleText(text));
}

/** One column of a table: its heading, and the cell of an item. */
export interface Column<T> {
  readonly heading: string;
  /** Shown with `-o wide` alone. */
  readonly isWide?: true;
  /** Text that is cut to what a terminal is wide; elsewhere to a hundred letters. */
  readonly isCut?: true;
  /** Left out where a terminal is too narrow, the last first. */
  readonly isSpare?: true;
  readonly cell: (item: T) => string;
}

/** Printed form of a kind of object. */
export interface Shape<T> {
  readonly columns: readonly Column<T>[];
  readonly nameOf: (item: T) => string;
}

interface Filled extends Omit<Column<never>, 'cell'> {
  readonly cells: readonly string[];
}

const GAP = 3;
const MOST_LETTERS = 100;
const FEWEST_LETTERS = 12;

function widthOf({ heading, cells }: Filled): number {
  return cells.reduce((most, cell) => Math.max(most, cell.length), heading.length);
}

/** The columns that a terminal has place for, with long texts cut. @param width undefined: no terminal */
function fit(columns: readonly Filled[], width: number | undefined): readonly Filled[] {
  const texts = columns.filter(({ isCut }) => isCut);
  if (texts.length === 0) return columns;
  const fixed = columns.filter(({ isCut }) => !isCut);
  const taken = fixed.reduce((sum, one) => sum + Math.max(GAP, widthOf(one)) + GAP, 0);
  const each = width === undefined ? MOST_LETTERS : Math.floor((width - taken) / texts.length) - GAP;
  const spare = columns.findLast(({ isSpare }) => isSpare);
  if (each < FEWEST_LETTERS && spare)
    return fit(
      columns.filter((one) => one !== spare),
      width,
    );
  return columns.map((one) =>
    one.isCut ? { ...one, cells: one.cells.map((cell) => cutTo(cell, Math.max(FEWEST_LETTERS, each))) } : one,
  );
}

function cutTo(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

/** A list in the wished format, in which a terminal finds nothing to obey. */
export async function renderItems<T>(
  format: OutputFormat,
  items: readonly T[],
  { columns, nameOf }: Shape<T>,
): Promise<string> {
  switch (format.kind) {
    case 'table':
    case 'wide': {
      const isWhole = format.kind === 'wide';
      const all = columns
        .filter(({ isWide }) => isWhole || !isWide)
        .map((column) => ({ ...column, cells: items.map((item) => cellText(column.cell(item))) }));
      const { isTTY, columns: width } = process.stdout;
      const shown = isWhole ? all : fit(all, isTTY ? width : undefined);
      return renderTable(
        shown.map(({ heading }) => heading),
        items.map((_, at) => shown.map(({ cells }) => cells[at] ?? '')),
      );
    }
    case 'name':
      return items.map((item) => `${visibleText(nameOf(item)).replaceAll('\n', ' ')}\n`).join('');
    case 'json':
    case 'yaml':
    case 'jsonpath':
      return await renderDocument(format, items);
    default:
      return format satisfies never;
  }
}

/**
 * One JSON document as JSON, as YAML, or what a template takes from it. Others wrote what is in it, and a terminal obeys
 * what it reads; a program that reads gets the same document.
 */
export async function renderDocument(format: DocumentFormat, value: unknown): Promise<string> {
  switch (format.kind) {
    case 'json':
      // escapes of JSON
      return visibleText(`${JSON.stringify(value, undefined, 2)}\n`);
    case 'yaml': {
      const { stringify } = await import('yaml');
      // times and words like `no` are quoted, as readers of YAML 1.1 need it
      return forReader(stringify(value, { version: '1.1' }));
    }
    case 'jsonpath': {
      const { renderJsonPath } = await import('./json-path-template.js');
      return forReader(renderJsonPath(format.template, value));
    }
    default:
      return format satisfies never;
  }
}

function forReader(text: string): string {
  return process.stdout.isTTY ? visibleText(text) : text;
}
