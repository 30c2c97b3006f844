import pg from 'pg';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { CHANNEL } from './migrations.js';

/** What servers tell one another; hints only, polling finds out the same a little later. */
export type NotificationWord = 'pending' | 'cancel' | 'watch' | 'events';

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

/** Listens on a connection of its own and reconnects for ever. */
export class Notifications {
  #client: pg.Client | undefined;
  #isStopped = false;
  #retryMs = FIRST_RETRY_MS;
  readonly #handlers = new Map<string, (id: string) => void>();

  constructor(
    private readonly uri: string,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  on(word: NotificationWord, handler: (id: string) => void): void {
    this.#handlers.set(word, handler);
  }

  async start(): Promise<void> {
    const client = new pg.Client({ connectionString: this.uri, application_name: 'agent-server listen' });
    client.on('notification', ({ payload = '' }) => {
      const colon = payload.indexOf(':');
      this.#handlers.get(payload.slice(0, colon))?.(payload.slice(colon + 1));
    });
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, undefined));
    this.#client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      this.#retryMs = FIRST_RETRY_MS;
      for (const handler of this.#handlers.values()) handler(''); // whatever was said meanwhile
    } catch (error) {
      this.#lost(client, error);
    }
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#isStopped || this.#client !== client) return;
    this.#client = undefined;
    if (error !== undefined) this.log.warn({ error: errorText(error) }, 'notifications are interrupted');
    void client.end().catch(() => undefined);
    this.clock.after(this.#retryMs, () => {
      if (!this.#isStopped) void this.start();
    });
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#client?.end().catch(() => undefined);
  }
}
