import type { Socket } from 'node:net';
import type pg from 'pg';
import { systemClock } from '#lib/time';

/** How long a statement may be silent before another session asks the server for it, once or twice over. */
const SILENT_MS = 10_000;
/** By which a clock may step back meanwhile, and what a login takes. */
const SLACK_MS = 5_000;

/** What the driver knows of a session; its types leave this out. */
interface Session {
  readonly connection: { readonly stream: Socket };
  readonly processID: number | null;
  readonly readyForQuery: boolean;
}

/** `own` is the session that asks: behind a pooler, the driver was given another id. */
const FIND = `SELECT pg_backend_pid() AS own, EXISTS (
  SELECT FROM pg_stat_activity WHERE pid = $1 AND backend_start <= clock_timestamp() - $2 * interval '1 ms'
) AS known`;

/**
 * Ends a connection whose statement waits for a server that does not know the session. A node without power drops what it is
 * sent and reports nothing, and the kernel repeats it for a quarter of an hour. So a session of its own asks whoever stands
 * behind the address by then, such as a standby that was promoted. A server that gives no answer, or a pooler in between,
 * decides nothing: a statement may take long.
 * @param open makes a session that asks, to the same address and without this watch
 */
export function endWhenLost(client: pg.Client, open: () => pg.Client, silentMs = SILENT_MS): void {
  const session = client as pg.Client & Session;
  client.once('connect', () => {
    const beganMs = systemClock.monotonicMs();
    const { stream } = session.connection;
    let heard: number | undefined;
    let cancel = systemClock.after(silentMs, () => void look());
    client.once('end', () => cancel());

    async function look(): Promise<void> {
      const isSilent = !session.readyForQuery && stream.bytesRead === heard;
      heard = session.readyForQuery ? undefined : stream.bytesRead;
      const ageMs = systemClock.monotonicMs() - beganMs;
      if (isSilent && (await isUnknown(open(), session.processID, ageMs - SLACK_MS)))
        stream.destroy(new Error('the server does not know the session of this connection'));
      if (!stream.destroyed) cancel = systemClock.after(silentMs, () => void look());
    }
  });
}

async function isUnknown(asker: pg.Client, pid: number | null, ageMs: number): Promise<boolean> {
  try {
    await asker.connect();
    const { rows } = await asker.query<{ own: number; known: boolean }>(FIND, [pid, ageMs]);
    const own = (asker as pg.Client & Session).processID;
    return rows[0]?.own === own && !rows[0].known;
  } catch {
    return false; // no answer decides nothing
  } finally {
    void asker.end().catch(() => undefined);
  }
}
