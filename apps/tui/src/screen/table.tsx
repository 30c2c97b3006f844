import { Box, Text } from 'ink';
import type { ReactNode } from 'react';
import { CELL_GAP, columnWidths } from '../render/column-widths.js';
import { fit } from '../render/fit.js';
import { windowOf } from '../render/window.js';
import type { Row } from '../rows/row.js';
import { TONE_COLOR } from '../rows/tone.js';

const MARK = '▸ ';
const LEAST_NAME = 16;
const GAP = ' '.repeat(CELL_GAP);

/** One table: a heading, and rows with a tree line, a coloured state and cells. */
export interface TableProps {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** Of all tables of the screen, so that names and states stand below one another. */
  readonly allRows: readonly Row[];
  readonly selectedKey: string | undefined;
  readonly width: number;
  /** Lines for rows; of more rows those around the selected one are shown. */
  readonly height: number;
  /** Shown when there are no rows: what to do to get some. */
  readonly hint: string;
}

function branchOf(row: Row): string {
  return row.depth === 0 ? '' : row.last ? '└ ' : '├ ';
}

/** The name in its tree, and how many rows are closed away below it. */
function nameOf(row: Row): string {
  return `${branchOf(row)}${row.name}${row.hidden > 0 ? ` +${row.hidden}` : ''}`;
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => text.length));
}

/** Widths of name, state and cells. The last cell gives way first, then the name, then the last cell for good. */
function widthsOf({ title, columns, rows, allRows, width }: TableProps): number[] {
  const cellsAt = (at: number, some = rows): string[] => some.map((row) => row.cells[at] ?? '');
  const parents = rows.filter(({ depth }) => depth === 0);
  const last = columns.length - 1;
  const name = widest([title, ...allRows.map(nameOf)]);
  const wishes = [
    { natural: name, least: Math.min(name, LEAST_NAME) },
    { natural: widest(['STATE', ...allRows.map((row) => `● ${row.state.word}`)]), least: 0 },
    ...columns.map((column, at) => ({
      natural: widest([column, ...cellsAt(at)]),
      least: at === last ? widest([column, ...cellsAt(at, parents)]) : 0,
    })),
  ];
  const lastAt = wishes.length - 1;
  const space = width - MARK.length;
  const widths = columnWidths(wishes, space, [lastAt, 0]);
  const again = widths.map((natural) => ({ natural, least: 0 }));
  return columnWidths(again, space, [lastAt]);
}

function TableRow({
  row,
  widths,
  isSelected,
}: {
  row: Row;
  widths: readonly number[];
  isSelected: boolean;
}): ReactNode {
  const [nameWidth = 0, stateWidth = 0, ...rest] = widths;
  const branch = branchOf(row);
  const cells = row.cells.map((cell, at) => fit(cell, rest[at] ?? 0)).join(GAP);
  return (
    <Text wrap="truncate" inverse={isSelected}>
      {isSelected ? MARK : ' '.repeat(MARK.length)}
      <Text dimColor>{branch}</Text>
      <Text bold={row.depth === 0}>{fit(nameOf(row).slice(branch.length), nameWidth - branch.length)}</Text>
      {GAP}
      <Text {...colorOf(row)}>{fit(`● ${row.state.word}`, stateWidth)}</Text>
      {GAP}
      {cells}
    </Text>
  );
}

function colorOf(row: Row): { color?: string; dimColor?: boolean } {
  const color = TONE_COLOR[row.state.tone];
  return color === undefined ? { dimColor: true } : { color };
}

export function Table(props: TableProps): ReactNode {
  const { title, columns, rows, selectedKey, height, hint } = props;
  const selected = rows.findIndex(({ key }) => key === selectedKey);
  const { start, end } = windowOf(rows.length, height, selected);
  const above = start > 0 ? ` ↑${start}` : '';
  const below = end < rows.length ? ` ↓${rows.length - end}` : '';
  const widths = widthsOf({ ...props, title: `${title}${above}${below}` });
  const heading = [`${title}${above}${below}`, 'STATE', ...columns];
  return (
    <Box flexDirection="column" marginTop={1}>
      <Text wrap="truncate" dimColor>
        {`  ${heading.map((text, at) => fit(text, widths[at] ?? 0)).join(GAP)}`}
      </Text>
      {rows.length === 0 ? <Text dimColor wrap="truncate">{`  ${hint}`}</Text> : null}
      {rows.slice(start, end).map((row) => (
        <TableRow key={row.key} row={row} widths={widths} isSelected={row.key === selectedKey} />
      ))}
    </Box>
  );
}
