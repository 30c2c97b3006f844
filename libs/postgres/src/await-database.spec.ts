import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { freePort, testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openPool } from './open-pool.js';
import { awaitDatabase } from './await-database.js';

const parts = { log: createLogger('test', 'error'), clock: systemClock };

describe('the start of a program that needs its database', () => {
  const postgres = testPostgres();

  it('waits for a database that refuses connections', async () => {
    const real = new URL((await postgres.freshDatabase()).uri);
    const port = await freePort();
    const uri = new URL(real);
    uri.hostname = '127.0.0.1';
    uri.port = String(port);
    const pool = openPool({ uri: uri.href, maxConnections: 1, applicationName: 'test', ...parts });
    let tries = 0;
    let rows: unknown;
    const started = awaitDatabase(parts, async () => {
      tries++;
      rows = (await pool.query('SELECT 1 AS one')).rows;
    });
    await waitFor(() => tries > 1);
    const door = createServer((socket) => {
      const server = connect(Number(real.port), real.hostname);
      socket.pipe(server).pipe(socket);
      socket.on('error', () => server.destroy());
      server.on('error', () => socket.destroy());
    }).listen(port, '127.0.0.1');
    await once(door, 'listening');
    await started;
    expect(rows).toEqual([{ one: 1 }]);
    expect(tries).toBeGreaterThan(1);
    await pool.end();
    door.close();
  });

  it('fails at once where waiting cannot help', async () => {
    const wrong = awaitDatabase(parts, () => Promise.reject(new Error('a mistake')));
    await expect(wrong).rejects.toThrow('a mistake');
  });
});
