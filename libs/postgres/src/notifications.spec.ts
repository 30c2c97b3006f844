import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { FakeClock, testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { Notifications } from './notifications.js';
import { openPool, type Pool } from './open-pool.js';

const postgres = testPostgres();
const log = createLogger('test', 'silent');

describe('notifications', () => {
  let uri: string;
  let pool: Pool;
  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase());
    pool = openPool({ uri, applicationName: 'sender', log });
  });
  afterAll(() => pool.end());

  const listen = (channel: string): Notifications<'ready' | 'other'> =>
    new Notifications({ uri, channel, applicationName: `listener ${channel}`, clock: systemClock, log });
  const send = (channel: string, payload: string) =>
    pool.query('SELECT pg_notify($1, $2)', [channel, payload]);

  it('calls the handler of the word with the id', async () => {
    const notifications = listen('first');
    const ids: string[] = [];
    notifications.on('ready', (id) => ids.push(id));
    await notifications.start();
    await send('first', 'other:1');
    await send('first', 'unknown:1');
    await send('first', 'ready:a:b');
    await waitFor(() => ids.length === 2);
    expect(ids).toEqual(['', 'a:b']);
    await notifications.stop();
  });

  it('reconnects after its connection was ended, and calls each handler to look for itself', async () => {
    const notifications = listen('second');
    const ids: string[] = [];
    notifications.on('ready', (id) => ids.push(id));
    await notifications.start();
    await pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener second'`,
    );
    await waitFor(() => ids.length === 2);
    await send('second', 'ready:1');
    await waitFor(() => ids.length === 3);
    expect(ids).toEqual(['', '', '1']);
    await notifications.stop();
    const { rowCount } = await pool.query(
      `SELECT FROM pg_stat_activity WHERE application_name = 'listener second' AND state <> 'idle'`,
    );
    expect(rowCount).toBe(0);
  });

  it('starts while the server is unavailable, and tries again one attempt at a time', async () => {
    const clock = new FakeClock();
    const notifications = new Notifications({
      uri: 'postgres://u:p@127.0.0.1:1/d',
      channel: 'c',
      applicationName: 'x',
      clock,
      log,
    });
    await notifications.start();
    expect(clock.pending).toBe(1);
    await clock.advance(300);
    await waitFor(() => clock.pending === 1);
    await notifications.stop();
    await clock.advance(60_000);
    expect(clock.pending).toBe(0);
  });
});
