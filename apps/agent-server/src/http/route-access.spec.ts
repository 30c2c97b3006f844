import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { scopeOf } from './caller-scope.js';
import { buildHttpServer } from './http-server.js';
import { OpenReplies } from './open-replies.js';
import { access } from './route-access.js';
import { UnsentOutput } from './unsent-output.js';

function build(): ReturnType<typeof buildHttpServer> {
  return buildHttpServer({
    verifier: undefined,
    readiness: { notReady: undefined, notStarted: undefined },
    replies: new OpenReplies(),
    unsent: new UnsentOutput({
      clock: systemClock,
      limits: { softBytes: 1e9, hardBytes: 1e9, lookMs: 500 },
      onCut: () => undefined,
    }),
    info: () => ({}),
    log: createLogger('test', 'silent'),
  });
}

describe('a route of the agent server', () => {
  it('needs an access', () => {
    expect(() => build().get('/more', async () => ({}))).toThrow('route GET /more does not name its access');
  });

  it('receives a scope by its access, and none when that is open or any', async () => {
    const app = build();
    app.get('/thread', access('threads:read'), async (request) => scopeOf(request).kind);
    app.get('/any', access('any'), async (request) => scopeOf(request).kind);
    app.get('/open', access('open'), async (request) => scopeOf(request).kind);
    const statusOf = async (url: string): Promise<number> => (await app.inject({ url })).statusCode;
    expect(await Promise.all(['/thread', '/any', '/open', '/none'].map(statusOf))).toEqual([
      200, 500, 500, 404,
    ]);
    await app.close();
  });
});
