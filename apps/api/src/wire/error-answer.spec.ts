import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { QueryFailedError } from 'typeorm';
import { PublicError } from '#lib/errors';
import { KubeApiError } from '#lib/kube';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { answerOf } from './error-answer.js';

function databaseError(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('from the server', 0, 'error'), { code });
}

describe('answerOf', () => {
  it('answers 503 with Retry-After for a database that cannot be reached', async () => {
    const log = createLogger('test', 'silent');
    const pool = openPool({ uri: 'postgres://user@127.0.0.1:1/none', applicationName: 'test', log });
    const error: unknown = await pool.query('SELECT 1').catch((thrown: unknown) => thrown);
    await pool.end();
    expect(answerOf(error)).toMatchObject({
      status: 503,
      body: { detail: 'The database is unavailable, try again' },
      retryAfter: 2,
    });
  });

  it.each([
    ['a server that is shutting down', '57P01', 503],
    ['too many connections', '53300', 503],
    ['a deadlock', '40P01', 503],
    ['a disk without space', '53100', 507],
    ['an unknown column', '42703', 500],
  ])('answers %s, also through TypeORM', (_, code, status) => {
    expect(answerOf(databaseError(code)).status).toBe(status);
    expect(answerOf(new QueryFailedError('SELECT 1', [], databaseError(code))).status).toBe(status);
  });

  it('answers 503 while it has no rights in a workspace', () => {
    const said =
      'secrets "s" is forbidden: User "u" cannot get resource "secrets" in API group "" in the namespace "ws-a"';
    expect(answerOf(new KubeApiError(403, 'Forbidden', said))).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining('rights in this workspace') as unknown },
      retryAfter: 2,
    });
  });

  it('answers 403 with the words of a quota', () => {
    const said = 'services "x" is forbidden: exceeded quota: agentplane, requested: ports=1';
    expect(answerOf(new KubeApiError(403, 'Forbidden', said))).toEqual({
      status: 403,
      body: { detail: said },
      isOurs: false,
    });
    expect(answerOf(new KubeApiError(403, 'Forbidden', 'no right')).status).toBe(500);
  });

  it('answers the status of a public error and shows nothing of an internal one', () => {
    expect(answerOf(new PublicError('conflict', 'taken'))).toMatchObject({ status: 409, isOurs: false });
    expect(answerOf(new Error('secret detail')).body).toEqual({ detail: 'Internal Server Error' });
  });
});
