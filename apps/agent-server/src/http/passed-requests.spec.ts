import type { FastifyInstance } from 'fastify';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { Passed } from '../app-front/app-front.js';
import { Authorization } from '../authorization/authorization.js';
import { bareHttpServer } from '../../testdata/bare-http-server.js';
import { access } from './route-access.js';

const log = createLogger('test', 'silent');
const PASS = 'x-agentplane-pass';

async function ask({ listeningOrigin }: FastifyInstance, headers: Record<string, string>): Promise<string> {
  return (await fetch(`${listeningOrigin}/again`, { headers })).text();
}

/** A server whose app leaves every request to it, without the credentials that the client sent. */
function build(isAuthFirst: boolean): FastifyInstance {
  let passed: Passed | undefined;
  const authenticate = (request: Request): unknown => request.headers.get('authorization') ?? 'nobody';
  const app: FastifyInstance = bareHttpServer({
    authorization: new Authorization({
      handlers: { authenticate, callbacks: new Map() },
      cache: undefined,
      clock: systemClock,
      log,
    }),
    app: {
      wants: () => true,
      authenticatesFirst: () => isAuthFirst,
      take: (headers) => (headers[PASS] === 'one' ? passed : undefined),
      forward: ({ response }, given) => {
        passed = given;
        void ask(app, { [PASS]: 'one', authorization: 'of the app' }).then((body) => response.end(body));
      },
    },
  });
  app.get('/again', access('threads:read'), async (request) => {
    const again = await app.callerOf(request);
    return `${request.caller?.identity ?? ''}, then ${again?.identity ?? ''}`;
  });
  return app;
}

describe('a request that an HTTP app leaves to the server', () => {
  it.each([
    ['what its client sent, after an authentication before the app', true, 'alice, then alice'],
    ['what the app sent, after an authentication behind the app', false, 'of the app, then of the app'],
  ])('shows its caller once more by %s', async (_, isAuthFirst, found) => {
    const app = build(isAuthFirst);
    await app.listen({ host: '127.0.0.1', port: 0 });
    expect(await ask(app, { authorization: 'alice' })).toBe(found);
    await app.close();
  });
});
