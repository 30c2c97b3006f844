import type { Socket } from 'node:net';
import type pg from 'pg';
import { systemClock } from '#lib/time';

/** A statement is asked about after it was silent for this long, or up to twice this. */
const SILENT_MS = 10_000;
/** Allows for the time that a login takes, and for a clock that steps back. */
const SLACK_MS = 5_000;

/**
 * Members of the driver's session. Its types leave this out: `lost-session.spec.ts` fails when a version
 * changes it.
 */
interface Session {
  readonly connection: { readonly stream: Socket };
  readonly processID: number | null;
  readonly readyForQuery: boolean;
}

/** `own` is the session that asks: behind a pooler it is not the id that the driver was given. */
const FIND = `SELECT pg_backend_pid() AS own, EXISTS (
  SELECT FROM pg_stat_activity WHERE pid = $1 AND backend_start <= clock_timestamp() - $2 * interval '1 ms'
) AS known`;

/**
 * Ends a connection whose statement waits for a server that does not know its session. A node without power drops packets and
 * reports nothing, and the kernel repeats them for a quarter of an hour. So a second session asks the server that is behind
 * the address by then, such as a standby that was promoted. Without an answer, and behind a pooler, the connection stays: a
 * statement may take long.
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
