import { Box, Text } from 'ink';
import { type ReactNode, type RefObject, useMemo } from 'react';
import { keyOf, keyText } from '#lib/resources';
import { visibleText } from '#lib/command-line';
import { windowOf } from '../render/window.js';
import { selectedIndex, type Session, topFrame } from '../session/session.js';
import type { Look } from '../views/view.js';
import { fixedColumns, isQualified } from './facts.js';
import { placeColumns, WidthMemory } from './layout.js';
import { columnsOf } from './row-texts.js';
import type { ShownRows } from './rows-cache.js';
import { MARK_WIDTH, type ShownRow, Table } from './table.js';

/** The rows around the selected one; cells are made for these alone. */
export function RowsTable(props: {
  readonly session: Session;
  readonly shown: ShownRows;
  readonly look: Look;
  readonly width: number;
  readonly height: number;
  /** First row of the window, kept from one frame to the next. */
  readonly firstRow: RefObject<number>;
}): ReactNode {
  const { session, shown, look, width, height, firstRow } = props;
  const { view, rows, items } = shown;
  const frame = topFrame(session);
  const widths = useMemo(() => new WidthMemory(), [view, session.stack.length, width]);
  const columns = columnsOf(view, { isWide: session.isWide, isQualified: isQualified(session) });
  const selected = selectedIndex(frame, { size: rows.size, indexOf: (key) => rows.indexOf(key) });
  const { start, end } = windowOf(rows.size, height, selected, firstRow.current);
  firstRow.current = start;
  const inWindow = rows.slice(start, end);
  const cells = inWindow.map((item) => new Map(columns.map((column) => [column, column.cell(item, look)])));
  widths.note(
    columns,
    cells.map((row) => [...row.values()]),
  );
  const fixed = fixedColumns(session);
  const placement = placeColumns(columns, widths, {
    width: width - MARK_WIDTH - 4,
    shift: frame.shift,
    fixed,
  });
  const shownRows = inWindow.map((item, at): ShownRow => {
    const key = keyText(keyOf(item));
    return {
      key,
      state: view.state(item),
      cells: placement.placed.map(({ column }) => cells[at]?.get(column) ?? ''),
      isSelected: start + at === selected,
      isMarked: frame.marks.has(key),
    };
  });
  const headings = placement.placed.map(({ column: { heading } }) =>
    frame.sort?.heading === heading ? `${heading}${frame.sort.isDescending ? '↓' : '↑'}` : heading,
  );
  const hint = !items.hasSynced
    ? 'reading …'
    : frame.filter === ''
      ? view.hint
      : `nothing matches /${visibleText(frame.filter)}: Esc drops the filter`;
  return <Table placement={placement} rows={shownRows} headings={headings} height={height} hint={hint} />;
}

/** Two lines for what the selected row has to say. */
export function MessageLines(props: {
  readonly session: Session;
  readonly shown: ShownRows;
  readonly width: number;
}): ReactNode {
  const { session, shown, width } = props;
  const { view, rows } = shown;
  const at = selectedIndex(topFrame(session), { size: rows.size, indexOf: (key) => rows.indexOf(key) });
  const item = at < 0 ? undefined : rows.at(at);
  const message = item === undefined ? '' : view.state(item).message;
  return (
    <Box marginLeft={2} height={2} width={width - 2} overflow="hidden">
      <Text>{visibleText(message)}</Text>
    </Box>
  );
}
