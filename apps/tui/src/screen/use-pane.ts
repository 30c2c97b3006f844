import { useMemo } from 'react';
import type { Clock } from '#lib/time';
import { paneOf, type Session } from '../session/session.js';
import type { Deeds } from './deeds.js';
import { filterLines, findLines, layLines } from './pane.js';
import type { ShownRows } from './rows-cache.js';
import { useText } from './use-text.js';

/** The text on top in its layout on the screen; empty without one. */
export interface ReadPane {
  readonly laid: readonly string[];
  readonly lines: number;
  readonly found: readonly number[];
}

/** Reads the text on top while it is there, lays its lines out and looks for what is searched. */
export function usePane(
  session: Session,
  { view, items }: ShownRows,
  { deeds, clock, width }: { readonly deeds: Deeds; readonly clock: Clock; readonly width: number },
): ReadPane {
  const pane = paneOf(session);
  const item = pane && items.find(pane.key);
  const lines = useText(
    pane && ((signal) => deeds.read(view, item, pane, signal)),
    pane ? `${pane.text} ${pane.key} ${pane.sinceMs ?? ''}` : '',
    clock,
    pane?.text === 'pulse',
  );
  const { isWrapped = false, left = 0, search = '' } = pane ?? {};
  const isLog = pane !== undefined && ['logs', 'previous'].includes(pane.text);
  const { isErrorsOnly = false } = pane ?? {};
  const shown = useMemo(
    () => (isLog ? filterLines(lines, search, isErrorsOnly) : lines),
    [lines, isLog, search, isErrorsOnly],
  );
  const laid = useMemo(
    () => layLines(shown, { isWrapped, left }, width - 1),
    [shown, isWrapped, left, width],
  );
  const found = useMemo(() => findLines(laid, search), [laid, search]);
  return { laid, lines: laid.length, found };
}
