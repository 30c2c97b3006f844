import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { NoAnswerError } from './no-answer-error.js';
import { openPool, type Pool } from './open-pool.js';

const postgres = testPostgres();
const SILENT_MS = 200;

/** A link to a server that drops, from one moment on, what its open connections send: as when a node loses its power. */
class DroppingLink {
  readonly #open = new Set<readonly [Socket, Socket]>();
  readonly #server: Server;
  /** Connections so far. */
  accepted = 0;

  constructor(port: number) {
    this.#server = createServer((near) => {
      this.accepted++;
      const far = connect(port, '127.0.0.1');
      const pair = [near, far] as const;
      this.#open.add(pair);
      for (const [one, other] of [pair, [far, near]] as const) {
        one.on('error', () => undefined);
        one.on('data', (piece: Buffer) => this.#open.has(pair) && other.write(piece));
        one.once('close', () => this.#open.delete(pair) && other.destroy());
      }
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections are served. */
  drop(): void {
    this.#open.clear();
  }

  async close(): Promise<void> {
    for (const [near, far] of this.#open) [near, far].map((socket) => socket.destroy());
    this.#server.close();
  }
}

describe('endWhenLost', () => {
  let direct: Pool;
  let pool: Pool;
  let link: DroppingLink;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    const options = { applicationName: 'lost', log: createLogger('test', 'silent') };
    direct = openPool({ uri, ...options, applicationName: 'direct' });
    link = new DroppingLink(Number(new URL(uri).port));
    const linked = new URL(uri);
    linked.port = String(await link.listen());
    pool = openPool({ uri: linked.href, ...options, silentMs: SILENT_MS });
  });
  afterAll(async () => {
    await pool.end();
    await direct.end();
    await link.close();
  });

  async function endSessions(): Promise<void> {
    await direct.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lost'`,
    );
  }

  it('fails a statement whose server has lost the session without a word, and serves the next', async () => {
    await pool.query('SELECT 1');
    link.drop();
    await endSessions();
    await expect(pool.query('SELECT 2')).rejects.toThrow(NoAnswerError);
    expect((await pool.query<{ three: number }>('SELECT 3 AS three')).rows).toEqual([{ three: 3 }]);
  });

  it('leaves a statement alone that takes long', async () => {
    const { rows } = await pool.query<{ done: string }>(
      `SELECT 'yes' AS done FROM pg_sleep(${(SILENT_MS * 8) / 1000})`,
    );
    expect(rows).toEqual([{ done: 'yes' }]);
  });

  it('waits for a session that the server still knows, however silent the network is', async () => {
    const lent = await pool.connect();
    link.drop();
    const answer = lent.query('SELECT 4').then(
      () => 'answered',
      () => 'failed',
    );
    const before = link.accepted;
    // the second asks once the first has decided
    await waitFor(() => link.accepted >= before + 2, { what: 'sessions that ask' });
    expect(await Promise.race([answer, Promise.resolve('waiting')])).toBe('waiting');
    await endSessions();
    expect(await answer).toBe('failed');
    lent.release(true);
  });
});
