import { Box, useApp, useStdout, useWindowSize } from 'ink';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { copyCode } from '../render/copy-code.js';
import { errorText } from '#lib/errors';
import type { Clock } from '#lib/time';
import { type Effect, newSession, paneOf, type Session } from '../session/session.js';
import type { Look } from '../views/view.js';
import type { World } from '../world/items.js';
import type { Deeds } from './deeds.js';
import { factsOf } from './facts.js';
import { BottomBar, Breadcrumbs, TopBar } from './frame-bars.js';
import { Help, helpLines } from './help.js';
import { Pane } from './pane.js';
import { RowsCache, type ShownRows } from './rows-cache.js';
import { MessageLines, RowsTable } from './rows-table.js';
import { usePane } from './use-pane.js';
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
}

const TICK_MS = 1000;
const WIDE = 100;
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
  readonly children: ReactNode;
}): ReactNode {
  const { session, shown, look, width, height, children } = props;
  return (
    <>
      <Breadcrumbs session={session} rows={shown.rows} items={shown.items} />
      <RowsTable
        session={session}
        shown={shown}
        look={look}
        width={width}
        height={Math.max(1, height - FRAME_LINES + 1)}
      />
      <MessageLines session={session} shown={shown} width={width} />
      {children}
    </>
  );
}

/** The screen: one table on top of those that led to it, and what lies above it. */
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

  const { session, change } = useSession(
    () => newSession(firstView, namespace),
    (of) => ({
      ...factsOf(of, cache.of(of), world, deeds),
      ...paneFacts.current,
      page: Math.max(1, paneOf(of) ? height - 3 : height - FRAME_LINES),
    }),
    onEffect,
  );

  function onEffect(effect: Effect, of: Session): void {
    const note = (text: string, isProblem = false): void =>
      change((was) => ({ ...was, notice: { text, isProblem } }));
    if (effect.kind === 'quit') return exit();
    if (effect.kind === 'copy') {
      stdout.write(copyCode(effect.text));
      return note(`${effect.text} copied`);
    }
    const { view, rows } = cache.of(of);
    const keys = effect.kind === 'edit' ? [effect.key] : effect.keys;
    const items = keys.flatMap((key) => rows.find(key) ?? []);
    const doing =
      effect.kind === 'edit'
        ? deeds.edit(view, items, suspendTerminal)
        : deeds.perform(view, effect.action, items, effect.answer);
    doing.then(
      ({ text, isProblem }) => note(text, isProblem),
      (error: unknown) => note(errorText(error), true),
    );
  }

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
        <TableScreen session={session} shown={shown} look={look} width={width} height={left}>
          <BottomBar session={session} namespaces={namespaces} />
        </TableScreen>
      )}
    </Box>
  );
}
