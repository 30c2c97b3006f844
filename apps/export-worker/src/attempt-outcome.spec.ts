import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { TerminalError } from '#lib/errors';
import { ObjectStoreError } from '#lib/object-store';
import { NoAnswerError, openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { type ExportProgressRecord, StaleAttemptError } from '#lib/trace-store';
import { outcomeOf } from './run-attempt.js';

const STALE = new StaleAttemptError(randomUUID(), 1);
const recordOf = (state: ExportProgressRecord['state'], attempt: number): ExportProgressRecord =>
  ({ state, attempt }) as ExportProgressRecord;

describe('outcomeOf', () => {
  it.each<[string, ExportProgressRecord | undefined, number]>([
    ['succeeds when the run is completed', recordOf('completed', 2), 0],
    ['is tried again when the run is held', recordOf('held', 1), 75],
    ['is tried again when another process of the attempt is at work', recordOf('running', 1), 75],
    ['is tried again when another process of the attempt failed', recordOf('failed', 1), 75],
    ['is tried again when the progress could not be read', undefined, 75],
    ['ends when a newer attempt is at work', recordOf('running', 2), 65],
    ['ends when the run was cancelled', recordOf('cancelled', 1), 65],
  ])('finds that a refused claim %s, without a message', (_name, record, exitCode) => {
    expect(outcomeOf(STALE, 1, record)).toEqual({ exitCode });
  });

  it.each<[unknown, number, string]>([
    [new ObjectStoreError('SlowDown', 'put k'), 75, 'The object store answered SlowDown to: put k'],
    [new ObjectStoreError('NoSuchBucket', 'put k'), 65, 'The object store answered NoSuchBucket to: put k'],
    [new TerminalError('Reason', 'change the spec'), 64, 'change the spec'],
    [
      new Error('reading failed', { cause: new Error('the stream ended') }),
      75,
      'reading failed: the stream ended',
    ],
    [new NoAnswerError(new Error('connect ECONNREFUSED 10.2.3.4:5432')), 75, 'the database gave no answer'],
    [
      new Error('reading failed', {
        cause: new NoAnswerError(new Error('getaddrinfo ENOTFOUND db.internal')),
      }),
      75,
      'reading failed: the database gave no answer',
    ],
  ])('records %s without what the platform alone may see', (failure, exitCode, message) => {
    expect(outcomeOf(failure, 1, undefined)).toEqual({ exitCode, message });
  });

  describe('of what Postgres reports', () => {
    const postgres = testPostgres();

    it('records the code, not names of roles and tables', async () => {
      const { uri } = await postgres.freshDatabase();
      const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
      const failure: unknown = await pool.query('SET ROLE hidden_role').catch((error: unknown) => error);
      await pool.end();
      expect(String(failure)).toContain('hidden_role');
      expect(outcomeOf(failure, 1, undefined)).toEqual({
        exitCode: 75,
        message: 'the database reported an error (SQLSTATE 22023)',
      });
    });
  });
});
