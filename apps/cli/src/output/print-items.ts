import { renderTable, visibleText } from '#lib/command-line';
import type { OutputFormat } from './output-format.js';

/** One column of a table: its heading, and the cell of an item. */
export interface Column<T> {
  readonly heading: string;
  /** Shown with `-o wide` alone. */
  readonly isWide?: true;
  readonly cell: (item: T) => string;
}

/** Printed form of a kind of object. */
export interface Shape<T> {
  readonly columns: readonly Column<T>[];
  readonly nameOf: (item: T) => string;
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
      const shown = columns.filter(({ isWide }) => format.kind === 'wide' || !isWide);
      return renderTable(
        shown.map(({ heading }) => heading),
        items.map((item) => shown.map(({ cell }) => visibleText(cell(item)))),
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
export async function renderDocument(
  format: Extract<OutputFormat, { kind: 'json' | 'yaml' | 'jsonpath' }>,
  value: unknown,
): Promise<string> {
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
