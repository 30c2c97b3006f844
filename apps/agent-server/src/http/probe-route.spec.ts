import { bareHttpServer } from '../../testdata/bare-http-server.js';

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
