import { Box, Text } from 'ink';
import { memo, type ReactNode } from 'react';
import type { ShownState, Tone } from '#lib/resources';
import { fit } from '../render/fit.js';
import { CELL_GAP, type Placement } from './layout.js';

const TONE_COLOR: Readonly<Record<Tone, string | undefined>> = {
  good: 'green',
  busy: 'yellow',
  bad: 'red',
  quiet: undefined,
};

/** Width of the marks before a row: selected, and marked. */
export const MARK_WIDTH = 2;
const GAP = ' '.repeat(CELL_GAP);

/** One row as it is shown. */
export interface ShownRow {
  readonly key: string;
  readonly state: ShownState;
  readonly cells: readonly string[];
  readonly isSelected: boolean;
  readonly isMarked: boolean;
}

export interface TableProps {
  readonly placement: Placement;
  readonly rows: readonly ShownRow[];
  /** Headings with the arrow of the sorted column. */
  readonly headings: readonly string[];
  /** Lines for rows. */
  readonly height: number;
  readonly hint: string;
}

const TableRow = memo(function TableRow({
  before,
  state,
  after,
  tone,
  isSelected,
  isMarked,
}: {
  readonly before: string;
  readonly state: string;
  readonly after: string;
  readonly tone: Tone;
  readonly isSelected: boolean;
  readonly isMarked: boolean;
}): ReactNode {
  const color = TONE_COLOR[tone];
  return (
    <Text wrap="truncate" inverse={isSelected}>
      {isSelected ? '▸' : ' '}
      <Text color="cyan">{isMarked ? '*' : ' '}</Text>
      <Text bold={isMarked}>{before}</Text>
      <Text {...(color === undefined ? { dimColor: true } : { color })}>{state}</Text>
      {after}
    </Text>
  );
});

/** The heading, and the rows that fit. */
export function Table({
  placement: { placed, beyond },
  rows,
  headings,
  height,
  hint,
}: TableProps): ReactNode {
  const stateAt = placed.findIndex(({ column }) => column.heading === 'STATE');
  const line = (cells: readonly string[], from: number, to: number): string =>
    placed
      .slice(from, to)
      .map(({ column, width }, at) => fit(cells[from + at] ?? '', width, column.align))
      .join(GAP);
  return (
    <Box flexDirection="column" height={height + 1}>
      <Text wrap="truncate" dimColor>
        {`${' '.repeat(MARK_WIDTH)}${line(headings, 0, placed.length)}${beyond > 0 ? ` →${beyond}` : ''}`}
      </Text>
      {rows.length === 0 ? <Text dimColor wrap="truncate">{`  ${hint}`}</Text> : null}
      {rows.map(({ key, state, cells, isSelected, isMarked }) => (
        <TableRow
          key={key}
          before={`${line(cells, 0, stateAt)}${GAP}`}
          state={line(cells, stateAt, stateAt + 1)}
          after={stateAt + 1 < placed.length ? `${GAP}${line(cells, stateAt + 1, placed.length)}` : ''}
          tone={state.tone}
          isSelected={isSelected}
          isMarked={isMarked}
        />
      ))}
    </Box>
  );
}
