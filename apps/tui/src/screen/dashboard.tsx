import { Box, useApp, useStdout, useWindowSize } from 'ink';
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import type { Clock } from '#lib/time';
import { newSession, paneOf, type Session } from '../session/session.js';
import type { Look } from '../views/view.js';
import type { World } from '../world/items.js';
import type { Deeds } from './deeds.js';
import { effectRunner } from './effect-runner.js';
import { factsOf } from './facts.js';
import { BottomBar, Breadcrumbs, TopBar } from './frame-bars.js';
import { Help, helpLines } from './help.js';
import { Pane } from './pane.js';
import { RowsCache, type ShownRows } from './rows-cache.js';
import { MessageLines, RowsTable } from './rows-table.js';
import { usePane } from './use-pane.js';
import { useMouse } from './use-mouse.js';
import { useProgress } from './use-progress.js';
import { useSession } from './use-session.js';
import { useWorld } from './use-world.js';

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
function TableScreen(props: {
  readonly session: Session;
  readonly shown: ShownRows;
  readonly look: Look;
  readonly width: number;
  readonly height: number;
  readonly firstRow: RefObject<number>;
  readonly children: ReactNode;
}): ReactNode {
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
  const { stdout } = useStdout();
  const { columns, rows: terminalLines } = useWindowSize();
  const width = columns || WIDE;
  // a frame as high as the terminal would be cleared and drawn anew each time
  const height = (terminalLines || 40) - 1;
  const lookRef = useRef<Look>(undefined);
  const cache = useMemo(() => new RowsCache(world, () => lookRef.current), [world]);
  useEffect(() => () => cache.close(), [cache]);
  const paneFacts = useRef<{ readonly lines: number; readonly found: readonly number[] }>({
    lines: 0,
    found: [],
  });

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

  const withoutMouse = useMouse(props.hasMouse === true, onMouse);
  const onEffect = effectRunner({
    deeds,
    cache,
    exit,
    write: (text) => void stdout.write(text),
    suspend: (run) => withoutMouse(() => suspendTerminal(run)),
    note: (text, isProblem) => change((was) => ({ ...was, notice: { text, isProblem } })),
  });

  const progress = useProgress(world, session.namespace, clock);
  const look = { now, nowMs: clock.monotonicMs(), progress, barWidth: width >= WIDE ? 16 : 8 };
  lookRef.current = look;
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
        <Help lines={helpLines(session, shown.view, deeds)} top={overlay.top} height={left} />
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
