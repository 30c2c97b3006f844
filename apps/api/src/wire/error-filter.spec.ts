import type { ArgumentsHost } from '@nestjs/common';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { ErrorFilter } from './error-answer.js';

const databaseError = (code: string): pg.DatabaseError =>
  Object.assign(new pg.DatabaseError('from the server', 0, 'error'), { code });

describe('ErrorFilter', () => {
  let nowMs = 0;
  const filter = new ErrorFilter(createLogger('test', 'silent'), { monotonicMs: () => nowMs });

  function statusOf(code: string): number {
    let status = 0;
    const reply = {
      header: () => reply,
      status: (value: number) => {
        status = value;
        return reply;
      },
      send: () => reply,
    };
    const request = { method: 'GET', raw: { socket: { destroyed: false } }, routeOptions: { url: '/' } };
    const http = { getRequest: () => request, getResponse: () => reply };
    filter.catch(databaseError(code), { switchToHttp: () => http } as unknown as ArgumentsHost);
    return status;
  }

  it('names the full disk while the database recovers from it', () => {
    expect(statusOf('57P03')).toBe(503);
    expect(statusOf('53100')).toBe(507);
    nowMs += 50_000;
    expect(['57P03', '40P01'].map(statusOf)).toEqual([507, 503]);
    nowMs += 20_000;
    expect(statusOf('57P03')).toBe(503);
  });
});
