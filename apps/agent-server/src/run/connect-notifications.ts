import type { Notifications } from '#lib/postgres';
import { parsePosition, type Position } from '../log/logged-event.js';
import { findCancel } from '../store/statement/finish-run.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { RunFollower } from './run-follower.js';
import type { ThreadWatch } from './thread-watch.js';
import type { WatchAnswers } from './watch-answers.js';
import type { Worker } from './worker.js';

/** Subjects of notifications between servers; hints only, polling finds the same a little later. */
export type NotificationWord = 'pending' | 'cancel' | 'watch' | 'at' | 'events' | 'webhook' | 'thread';

interface Listeners {
  readonly sql: Sql;
  readonly worker: Worker;
  readonly watches: WatchAnswers;
  readonly follower: RunFollower;
  readonly webhooks: { wake(): void };
  readonly watch: Pick<ThreadWatch, 'wake'>;
}

interface Place {
  readonly runId: string;
  readonly position: Position | undefined;
  readonly server: string | undefined;
}

/** `RUN`, `RUN:POSITION`, or `RUN:POSITION:SERVER` with a position that may be empty. */
function placeIn(text: string): Place {
  const [runId = '', position = '', server] = text.split(':', 3);
  return { runId, position: parsePosition(position), server };
}

/** Hands notifications to the parts that they are for. */
export function connectNotifications(
  notifications: Notifications<NotificationWord>,
  { sql, worker, watches, follower, webhooks, watch }: Listeners,
): void {
  async function cancel(runId: string): Promise<void> {
    if (!worker.find(runId)) return;
    const asked = await findCancel(WORKER, sql, runId).catch(() => undefined); // the next heartbeat sees it too
    if (asked) worker.find(runId)?.stop({ kind: 'cancelled', ...asked });
  }
  notifications.on('pending', () => worker.wake());
  notifications.on('cancel', (runId) => void cancel(runId));
  notifications.on('watch', (wanted) => {
    const { runId, position, server } = placeIn(wanted);
    void watches.answer(runId, position, server);
  });
  notifications.on('at', (place) => {
    const { runId, position } = placeIn(place);
    if (position) follower.standsAt(runId, position);
  });
  notifications.on('events', (runId) => follower.wake(runId));
  notifications.on('webhook', () => webhooks.wake());
  notifications.on('thread', (threadId) => watch.wake(threadId));
}
