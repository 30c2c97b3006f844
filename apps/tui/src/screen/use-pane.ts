import { useEffect, useMemo, useState } from 'react';
import { errorText } from '#lib/errors';
import type { Clock } from '#lib/time';
import { paneOf, type Session } from '../session/session.js';
import type { Deeds } from './effect-runner.js';
import { filterLines, findLines, layLines } from './pane.js';
import type { ShownRows } from './rows-cache.js';

/** Kept of a text that does not end. */
const MOST_LINES = 20_000;
/** Lines that come within this time are one frame. */
const GATHER_MS = 100;

/** Reads lines as they come while the component shows them; the last 20,000 are kept. @param isWhole each batch replaces the one before */
function useText(
  open: ((signal: AbortSignal) => AsyncIterable<readonly string[]>) | undefined,
  key: string,
  clock: Clock,
  isWhole: boolean,
): readonly string[] {
  const [lines, setLines] = useState<readonly string[]>([]);
  useEffect(() => {
    setLines(['…']);
    if (open === undefined) return;
    const ending = new AbortController();
    let kept: readonly string[] = [];
    let isGathering = false;
    const show = (): void => {
      if (isGathering) return;
      isGathering = true;
      clock.after(GATHER_MS, () => {
        isGathering = false;
        if (!ending.signal.aborted) setLines(kept);
      });
    };
    const read = async (): Promise<void> => {
      try {
        for await (const batch of open(ending.signal)) {
          kept = isWhole ? batch : [...kept, ...batch].slice(-MOST_LINES);
          show();
        }
      } catch (error) {
        if (ending.signal.aborted) return;
        kept = [...kept, `— ${errorText(error)}`];
        show();
      }
    };
    void read();
    return () => ending.abort(new Error('the text is closed'));
    // the text is what its key names
  }, [key]);
  return lines;
}

/** The text on top in its layout on the screen; empty without one. */
export interface ReadPane {
  /** Lines that the search lets through, before they are cut or wrapped. */
  readonly shown: readonly string[];
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
    pane ? `${pane.text} ${pane.key} ${pane.sinceMs ?? ''} ${pane.isRaw ?? false}` : '',
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
  return { shown, laid, lines: laid.length, found };
}
