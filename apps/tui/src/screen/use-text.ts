import { useEffect, useState } from 'react';
import { errorText } from '#lib/errors';
import type { Clock } from '#lib/time';

/** Kept of a text that does not end. */
const MOST_LINES = 20_000;
/** Lines that come within this time are one frame. */
const GATHER_MS = 100;

/** Reads lines as they come while the component shows them; the last 20,000 are kept. @param isWhole each batch replaces the one before */
export function useText(
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
