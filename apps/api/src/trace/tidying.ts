import { errorText } from '#lib/errors';
import type { Stoppable } from '#lib/lifecycle';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';

const INTERVAL_MS = 600_000;

/** Lets the store drop what has waited too long, at once and every ten minutes. */
export function startTidying(store: Pick<TraceStore, 'tidy'>, clock: Clock, log: Logger): Stoppable {
  let cancel: (() => void) | undefined;
  let isStopped = false;
  const tidy = async (): Promise<void> => {
    // the database may be away for a moment; the next turn comes anyway
    await store.tidy().catch((error: unknown) => log.warn({ error: errorText(error) }, 'could not tidy up'));
    if (!isStopped) cancel = clock.after(INTERVAL_MS, () => void (turn = tidy()));
  };
  let turn = tidy();
  return {
    name: 'tidying',
    async stop() {
      isStopped = true;
      cancel?.();
      await turn;
    },
  };
}
