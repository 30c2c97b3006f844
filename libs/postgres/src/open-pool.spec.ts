import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { itLong, testPostgres, waitFor } from '#lib/testing';
import { NoAnswerError } from './no-answer-error.js';
import { openConnection } from './notifications.js';
import { openPool, type Pool } from './open-pool.js';
import { postgresTrouble, sqlState } from './postgres-trouble.js';

const postgres = testPostgres();
const log = createLogger('test', 'silent');

/** Error that a promise is rejected with. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: unknown) => error,
  );
}

describe('openPool', () => {
  let uri: string;
  let pool: Pool;

  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase());
    pool = openPool({
      uri,
      applicationName: 'a program',
      maxConnections: 2,
      connectTimeoutMs: 300,
      settings: { timezone: 'UTC', datestyle: 'ISO' },
      log,
    });
  });
  afterAll(() => pool.end());

  const kill = async (application = 'a program'): Promise<void> => {
    const killer = await openConnection({ uri, applicationName: 'killer' });
    await killer.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
      application,
    ]);
    await killer.end();
  };

  it('names the application and sets the settings of each session', async () => {
    const { rows } = await pool.query(
      `SELECT current_setting('application_name') AS name, current_setting('timezone') AS zone`,
    );
    expect(rows).toEqual([{ name: 'a program', zone: 'UTC' }]);
  });

  it('outlives a connection that breaks while it is lent out, and fails its statements as unavailable', async () => {
    const client = await pool.connect();
    const heard = new Promise((resolve) => client.once('error', resolve));
    await kill();
    expect(await heard).toBeInstanceOf(Error);
    const error = await failure(client.query('SELECT 1'));
    client.release(true);
    expect(error).toBeInstanceOf(NoAnswerError);
    expect(postgresTrouble(error)).toBe('unavailable');
    await waitFor(async () => (await pool.query('SELECT 1').catch(() => undefined))?.rowCount === 1);
  });

  it('fails a statement that was under way as unavailable', async () => {
    const sleeping = failure(pool.query('SELECT pg_sleep(30)'));
    await waitFor(async () => {
      const { rows } = await pool.query(`SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(30)'`);
      return rows.length === 1;
    });
    await kill();
    expect(postgresTrouble(await sleeping)).toBe('unavailable');
  });

  it('fails as unavailable when no connection is free in time', async () => {
    const lent = await Promise.all([pool.connect(), pool.connect()]);
    const errors = [await failure(pool.connect()), await failure(pool.query('SELECT 1'))];
    for (const client of lent) client.release();
    expect(errors.map(postgresTrouble)).toEqual(['unavailable', 'unavailable']);
  });

  describe('of a role that may have fewer connections', () => {
    const address = () => Object.assign(new URL(uri), { username: 'few', password: 'few' });
    const openFew = (at: URL, connectTimeoutMs: number): Pool =>
      openPool({ uri: at.href, applicationName: 'few', maxConnections: 3, connectTimeoutMs, log });
    beforeAll(() => pool.query(`CREATE ROLE few LOGIN CONNECTION LIMIT 1 PASSWORD 'few'`));
    afterAll(() => pool.query('DROP ROLE few'));

    it('waits for a connection that it has', async () => {
      const [real, counted] = [address(), address()];
      let ended = 0;
      const proxy = createServer((socket) => {
        const onward = connect(Number(real.port), real.hostname);
        socket.pipe(onward).pipe(socket);
        onward.on('close', () => ended++);
      }).listen(0, '127.0.0.1');
      await once(proxy, 'listening');
      counted.port = String((proxy.address() as AddressInfo).port);
      const few = openFew(counted, 60_000);
      const lent = await few.connect();
      const answers = Promise.all([few.query('SELECT 1'), few.connect().then((one) => one.release())]);
      answers.catch(() => undefined);
      await waitFor(() => ended >= 2, { what: 'both to be refused' });
      lent.release();
      expect((await answers)[0].rowCount).toBe(1);
      await few.end();
      proxy.close();
    });

    it('fails as unavailable, by the words of the server, when none is free in time', async () => {
      const few = openFew(address(), 300);
      const lent = await few.connect();
      const error = await failure(few.query('SELECT 1'));
      lent.release();
      await few.end();
      expect([sqlState(error), postgresTrouble(error)]).toEqual(['53300', 'unavailable']);
    });
  });

  it('leaves a mistake of the caller what it is', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const error = await failure(pool.query('SELECT $1::json', [circular]));
    expect(error).toBeInstanceOf(TypeError);
    expect(postgresTrouble(error)).toBeUndefined();
  });

  itLong('fails a statement whose answer is too long to be read, and goes on', async () => {
    const error = await failure(pool.query(`SELECT repeat('x', 540000000)`));
    expect(error).toBeInstanceOf(RangeError);
    expect(postgresTrouble(error)).toBeUndefined();
    await waitFor(async () => (await pool.query('SELECT 1').catch(() => undefined))?.rowCount === 1);
  });

  describe('a server', () => {
    let silent: Server;
    beforeAll(async () => {
      silent = createServer(() => undefined);
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => {
      silent.close();
    });

    const fails = async (address: string): Promise<string | undefined> => {
      const lost = openPool({ uri: address, applicationName: 'x', connectTimeoutMs: 200, log });
      const errors = [
        await failure(lost.query('SELECT 1')),
        await failure(lost.connect()),
        await failure(openConnection({ uri: address, applicationName: 'x', connectTimeoutMs: 200 })),
      ];
      await lost.end();
      const troubles = new Set(errors.map(postgresTrouble));
      expect(troubles.size).toBe(1);
      return [...troubles][0];
    };

    it('classifies a server that refuses connections as unavailable', async () => {
      expect(await fails('postgres://u:p@127.0.0.1:1/d')).toBe('unavailable');
    });

    it('classifies a server that does not answer in time as unavailable', async () => {
      const { port } = silent.address() as AddressInfo;
      expect(await fails(`postgres://u:p@127.0.0.1:${port}/d`)).toBe('unavailable');
    });

    it('waits for a server that refuses the password', async () => {
      const wrong = new URL(uri);
      wrong.password = 'wrong';
      expect(await fails(wrong.toString())).toBe('unavailable');
    });
  });
});

describe('postgresTrouble', () => {
  let pool: Pool;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    pool = openPool({ uri, applicationName: 'troubled', log });
    await pool.query('CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2)');
  });
  afterAll(() => pool.end());

  it('classes a deadlock as conflict', async () => {
    const [one, other] = await Promise.all([pool.connect(), pool.connect()]);
    await one.query('BEGIN; SELECT FROM t WHERE a = 1 FOR UPDATE');
    await other.query('BEGIN; SELECT FROM t WHERE a = 2 FOR UPDATE');
    const outcomes = await Promise.allSettled([
      one.query('SELECT FROM t WHERE a = 2 FOR UPDATE'),
      other.query('SELECT FROM t WHERE a = 1 FOR UPDATE'),
    ]);
    one.release(true);
    other.release(true);
    const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(errors.map(postgresTrouble)).toEqual(['conflict']);
  });

  it.each([
    ['a lock that is not free', `SELECT FROM t WHERE a = 1 FOR UPDATE NOWAIT`, 'conflict'],
    ['text that is no number', `SELECT 'x'::int`, 'refused'],
    ['a NUL in jsonb', String.raw`SELECT '"\u0000"'::jsonb`, 'refused'],
    ['a duplicate key', 'INSERT INTO t VALUES (1)', undefined],
    ['a missing table', 'SELECT FROM missing', undefined],
  ])('classes %s', async (_name, sql, trouble) => {
    const holder = await pool.connect();
    await holder.query('BEGIN; SELECT FROM t WHERE a = 1 FOR UPDATE');
    const error = await failure(pool.query(sql));
    holder.release(true);
    expect(sqlState(error)).toMatch(/^\w{5}$/);
    expect(postgresTrouble(error)).toBe(trouble);
  });

  it('leaves errors of other origin alone', () => {
    expect([new Error('x'), new TypeError('x'), undefined, 'text'].map(postgresTrouble)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
