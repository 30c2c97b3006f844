import { bareHttpServer } from '../../testdata/bare-http-server.js';
import { scopeOf } from './caller-scope.js';
import { access } from './route-access.js';

describe('a route of the agent server', () => {
  it('needs an access', () => {
    expect(() => bareHttpServer().get('/more', async () => ({}))).toThrow(
      'route GET /more does not name its access',
    );
  });

  it('receives a scope by its access, and none when that is open or any', async () => {
    const app = bareHttpServer();
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
