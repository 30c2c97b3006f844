import { Box, Text, useApp, useStdin, useStdout, useWindowSize } from 'ink';
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { visibleText } from '#lib/command-line';
import { keyOf, keyText } from '#lib/resources';
import type { Clock } from '#lib/time';
import { windowOf } from '../render/fit.js';
import { newSession, paneOf, selectedIndex, type Session, topFrame } from '../session/session.js';
import type { Look } from '../views/view.js';
import type { World } from '../world/items.js';
import { type Deeds, effectRunner } from './effect-runner.js';
import { factsOf, fixedColumns, isQualified } from './facts.js';
import { BottomBar, Breadcrumbs, TopBar } from './frame-bars.js';
import { Help, helpEntries } from './help.js';
import { placeColumns, WidthMemory } from './layout.js';
import { Pane } from './pane.js';
import { tableText } from './print-once.js';
import { columnsOf, emptyHint } from './row-texts.js';
import { RowsCache, type ShownRows } from './rows-cache.js';
import { MARK_WIDTH, type ShownRow, Table } from './table.js';
import { type ReadPane, usePane } from './use-pane.js';
import { useMouse, useProgress, useSession, useWorld, withoutReading } from './use-session.js';

interface TableProps {
  readonly session: Session;
  readonly shown: ShownRows;
  readonly look: Look;
  readonly width: number;
  readonly height: number;
  /** First row of the window, kept from one frame to the next. */
  readonly firstRow: RefObject<number>;
}

/** The rows around the selected one; cells are made for these alone. */
function RowsTable(props: TableProps): ReactNode {
  const { session, shown, look, width, height, firstRow } = props;
  const { view, rows, items } = shown;
  const frame = topFrame(session);
  const widths = useMemo(() => new WidthMemory(), [view, session.stack.length, width]);
  const all = columnsOf(view, { isWide: true, isQualified: isQualified(session) });
  const columns = session.isWide ? all : all.filter(({ isWide }) => !isWide);
  const selected = selectedIndex(frame, { size: rows.size, indexOf: (key) => rows.indexOf(key) });
  const { start, end } = windowOf(rows.size, height, selected, firstRow.current);
  firstRow.current = start;
  const inWindow = rows.slice(start, end);
  const cells = inWindow.map((item) => new Map(all.map((column) => [column, column.cell(item, look)])));
  widths.note(
    all,
    cells.map((row) => [...row.values()]),
  );
  const fixed = fixedColumns(session);
  const placement = placeColumns(columns, widths, {
    width: width - MARK_WIDTH - 4,
    shift: frame.shift,
    fixed,
    spare: all.filter((column) => !columns.includes(column)),
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
  const hint = rows.size > 0 ? '' : emptyHint(view, items, frame);
  return <Table placement={placement} rows={shownRows} headings={headings} height={height} hint={hint} />;
}

/** Two lines for what the selected row has to say. */
function MessageLines(props: {
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

export interface DashboardProps {
  readonly world: World;
  readonly clock: Clock;
  readonly deeds: Deeds;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** Address of the API server. */
  readonly server: string;
  readonly firstView: string;
  /** Takes the mouse from the terminal, which then selects no text without Shift. */
  readonly hasMouse?: boolean;
}

const TICK_MS = 1000;
const WIDE = 100;
/** Program, breadcrumbs, the table's heading. */
const LINES_ABOVE_ROWS = 3;
/** Program and breadcrumbs, the table's heading, the message of the selected row, the keys. */
const FRAME_LINES = 2 + 1 + 2 + 1;

/** The time, moving once a second so that ages do. */
function useNow(clock: Clock): Date {
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => clock.after(TICK_MS, () => setNow(clock.now())), [clock, now]);
  return now;
}

/** The table on top, with the way to it, its message and its last line. */
function TableScreen(props: TableProps & { readonly children: ReactNode }): ReactNode {
  const { session, shown, look, width, height, firstRow, children } = props;
  return (
    <>
      <Breadcrumbs session={session} rows={shown.rows} items={shown.items} />
      <RowsTable
        session={session}
        shown={shown}
        look={look}
        width={width}
        height={Math.max(1, height - FRAME_LINES + 1)}
        firstRow={firstRow}
      />
      <MessageLines session={session} shown={shown} width={width} />
      {children}
    </>
  );
}

/** The screen: one table on top of those that led to it, and the overlay above it. */
export function Dashboard(props: DashboardProps): ReactNode {
  const { world, clock, deeds, namespace, server, firstView } = props;
  useWorld(world);
  const now = useNow(clock);
  const { exit, suspendTerminal } = useApp();
  const { stdin } = useStdin();
  const { stdout } = useStdout();
  const { columns, rows: terminalLines } = useWindowSize();
  const width = columns || WIDE;
  // a frame as high as the terminal would be cleared and drawn anew each time
  const height = (terminalLines || 40) - 1;
  const lookRef = useRef<Look>(undefined);
  const cache = useMemo(() => new RowsCache(world, () => lookRef.current), [world]);
  useEffect(() => () => cache.close(), [cache]);
  const paneFacts = useRef<ReadPane>({ shown: [], laid: [], lines: 0, found: [] });

  const firstRow = useRef(0);
  const { session, change, onMouse } = useSession(
    () => newSession(firstView, namespace),
    (of) => ({
      ...factsOf(of, cache.of(of), world, deeds),
      ...paneFacts.current,
      page: Math.max(1, paneOf(of) ? height - 3 : height - FRAME_LINES),
      rowAtLine: (line) => {
        const { rows, items } = cache.of(of);
        const above = LINES_ABOVE_ROWS + ((world.trouble ?? items.problem) === undefined ? 0 : 1);
        const at = line - above - 1;
        const index = firstRow.current + at;
        return at >= 0 && at <= height - FRAME_LINES && index < rows.size ? index : undefined;
      },
    }),
    (effect, of) => onEffect(effect, of),
    clock,
  );

  const progress = useProgress(world, session.namespace, clock);
  const look = { now, nowMs: clock.monotonicMs(), progress, barWidth: width >= WIDE ? 16 : 8 };
  lookRef.current = look;

  const withoutMouse = useMouse(props.hasMouse === true, onMouse);
  const onEffect = effectRunner({
    deeds,
    cache,
    shown: (of) => {
      const { view, rows } = cache.of(of);
      const title = paneOf(of)?.title ?? view.name;
      const looked = { isWide: true, isQualified: isQualified(of) };
      const plain = { ...look, barWidth: 0 };
      return {
        title,
        lines: paneOf(of)
          ? paneFacts.current.shown
          : tableText(view, rows.slice(0, rows.size), plain, looked).split('\n'),
      };
    },
    exit,
    write: (text) => void stdout.write(text),
    suspend: (run) => withoutMouse(() => suspendTerminal(() => withoutReading(stdin, run))),
    note: (text, isProblem) => change((was) => ({ ...was, notice: { text, isProblem } })),
  });

  const shown = cache.of(session);
  const read = usePane(session, shown, { deeds, clock, width });
  paneFacts.current = read;

  const { overlay } = session;
  const pane = paneOf(session);
  const { namespaces } = factsOf(session, shown, world, deeds);
  const trouble = world.trouble ?? shown.items.problem;
  const left = height - (trouble === undefined ? 1 : 2);
  const place = `${session.namespace ?? 'all namespaces'} · ${server}`;
  return (
    <Box flexDirection="column" width={width} height={height}>
      <TopBar place={place} now={now} trouble={trouble} />
      {overlay?.kind === 'help' ? (
        <Help
          entries={helpEntries(session, shown.view, deeds)}
          top={overlay.top}
          width={width}
          height={left}
        />
      ) : pane ? (
        <Pane pane={pane} lines={read.laid} found={read.found} height={left} session={session}>
          {overlay?.kind === 'prompt' ? <BottomBar session={session} namespaces={namespaces} /> : null}
        </Pane>
      ) : (
        <TableScreen
          session={session}
          shown={shown}
          look={look}
          width={width}
          height={left}
          firstRow={firstRow}
        >
          <BottomBar session={session} namespaces={namespaces} />
        </TableScreen>
      )}
    </Box>
  );
}
