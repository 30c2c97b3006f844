import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { patient, postgresProcesses, testPostgres, waitFor } from '#lib/testing';
import { NoAnswerError } from './no-answer-error.js';
import { openPool, type Pool } from './open-pool.js';

const postgres = testPostgres({ ownServer: true });
const ANSWER_MS = patient(400);

describe('a server whose processes are stopped', () => {
  let pool: Pool;
  let unhurried: Pool;

  beforeAll(() => {
    const options = { uri: postgres.uri, applicationName: 'test', log: createLogger('test', 'silent') };
    pool = openPool({ ...options, maxConnections: 3, answerMs: ANSWER_MS });
    unhurried = openPool({ ...options, maxConnections: 1 });
  });
  afterAll(() => Promise.all([pool.end(), unhurried.end()]));

  it('fails statements, begun ones too, and requests for a connection; other pools wait', async () => {
    const { rows } = await unhurried.query<{ one: number }>('SELECT 1 AS one');
    expect(rows).toEqual([{ one: 1 }]);
    const begun = pool.query('SELECT pg_sleep(1000)').catch((error: unknown) => error);
    await pool.query('SELECT 1');
    const processes = await postgresProcesses(unhurried);
    processes.signal('SIGSTOP');
    try {
      const waits = unhurried.query<{ two: number }>('SELECT 2 AS two');
      const more = Array.from({ length: 6 }, () => pool.query('SELECT 1').catch((error: unknown) => error));
      for (const failure of await Promise.all([begun, ...more]))
        expect(failure).toBeInstanceOf(NoAnswerError);
      await expect(pool.query('SELECT 1')).rejects.toThrow(NoAnswerError);
      processes.signal('SIGCONT');
      expect((await waits).rows).toEqual([{ two: 2 }]);
      // once a session that asks was answered
      await waitFor(() =>
        pool.query('SELECT 3').then(
          () => true,
          () => false,
        ),
      );
    } finally {
      processes.signal('SIGCONT');
    }
  });

  it('leaves a statement alone that takes long, and those that wait behind it', async () => {
    const slow = Array.from({ length: 5 }, () =>
      pool.query<{ done: string }>(`SELECT 'yes' AS done FROM pg_sleep(${(2 * ANSWER_MS) / 1000})`),
    );
    for (const { rows } of await Promise.all(slow)) expect(rows).toEqual([{ done: 'yes' }]);
  });
});
