import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { DESCRIBED_ROUTES } from './description/described-routes.js';
import { buildHttpServer } from './http-server.js';
import { Activity, OpenReplies } from './open-replies.js';
import { access } from './route-access.js';
import { UnsentOutput } from './unsent-output.js';
import { Readiness } from '../start/await-database.js';

/** The request that most agents get first. */
const RUN = { assistant_id: 'agent', input: {}, stream_mode: ['values'] };

const LONGEST_MS = 1_000;

/**
 * Serves the routes of an agent, none of which does anything, for two requests of this process, so that V8 has compiled
 * their code before the claim.
 */
export async function serveOnce(): Promise<void> {
  const readiness = new Readiness();
  readiness.started();
  const app = buildHttpServer({
    verifier: undefined,
    readiness,
    replies: new OpenReplies(),
    activity: new Activity(systemClock),
    unsent: new UnsentOutput({
      clock: systemClock,
      limits: { softBytes: 1, hardBytes: 1, lookMs: 1_000 },
      onCut: () => undefined,
    }),
    info: () => ({}),
    askDatabase: async () => undefined,
    isObserved: false,
    log: createLogger('agent-server', 'silent'),
  });
  // the server has its own already
  const others = Object.entries(DESCRIBED_ROUTES).filter(([name]) => !/^GET \/(ok|info|metrics)$/.test(name));
  for (const [name, { body }] of others) {
    const [method = '', url = ''] = name.split(' ');
    app.route({ method, url, ...access('any'), handler: (request) => body?.safeParse(request.body) ?? {} });
  }
  try {
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const signal = AbortSignal.timeout(LONGEST_MS);
    await (await fetch(`${address}/ok`, { signal })).text();
    const headers = { 'content-type': 'application/json' };
    const run = { method: 'POST', headers, body: JSON.stringify(RUN), signal };
    await (await fetch(`${address}/runs/wait`, run)).text();
  } catch {
    // a proxy of the machine may refuse the requests or be silent: no spare fails for that
  }
  await app.close();
}
