import { bareHttpServer } from '../../testdata/bare-http-server.js';
import { Readiness } from '../start/await-database.js';

describe('GET /ok', () => {
  it('checks the database on request, with one statement for all requests at a time', async () => {
    let asked = 0;
    const held = Promise.withResolvers<void>();
    const askDatabase = (): Promise<void> => (asked++, held.promise);
    const app = bareHttpServer({ askDatabase });
    const asks = [1, 2, 3].map(() => app.inject('/ok?check_db=1').then((answer) => answer.json<object>()));
    // those before it have arrived by then
    expect((await app.inject('/ok')).json()).toEqual({ ok: true });
    expect(asked).toBe(1);
    held.resolve();
    expect(await Promise.all(asks)).toEqual(
      asks.map(() => ({ ok: true, services: { database: 'healthy' } })),
    );
    await app.inject('/ok?check_db=true');
    expect(asked).toBe(2);
    await app.close();
  });

  it('holds a probe until the start ends, and answers everyone else at once', async () => {
    const readiness = new Readiness();
    const app = bareHttpServer({ readiness });
    const probe = app.inject({ url: '/ok', headers: { 'user-agent': 'kube-probe/1.34' } });
    expect((await app.inject('/ok')).statusCode).toBe(503);
    readiness.started();
    expect((await probe).json()).toEqual({ ok: true });
    await app.close();
  });

  it.each<[string, (readiness: Readiness) => void, string]>([
    ['the start takes longer than the probe waits', () => undefined, 'starting'],
    [
      'the start waits for the database',
      (readiness) => readiness.waits({ detail: 'no database' }),
      'no database',
    ],
    ['the server drains', (readiness) => readiness.drain(), 'draining'],
  ])('answers a probe with the reason where %s', async (_when, change, detail) => {
    const readiness = new Readiness();
    const app = bareHttpServer({ readiness });
    const probe = app.inject({ url: '/ok', headers: { 'user-agent': 'kube-probe/1.34' } });
    await app.inject('/ok');
    change(readiness);
    expect((await probe).json()).toMatchObject({ detail });
    await app.close();
  });

  it('answers 503 and names the database that does not answer', async () => {
    const app = bareHttpServer({ askDatabase: () => Promise.reject(new Error('secret detail')) });
    const answer = await app.inject('/ok?check_db=1');
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({
      detail: 'database unavailable; retry',
      services: { database: 'unhealthy' },
    });
    expect(answer.body).not.toContain('secret');
    await app.close();
  });
});
