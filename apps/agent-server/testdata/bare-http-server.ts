import type { FastifyInstance } from 'fastify';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { buildHttpServer, type HttpServerParts } from '../src/http/http-server.js';
import { Activity, OpenReplies } from '../src/http/open-replies.js';
import { UnsentOutput } from '../src/http/unsent-output.js';

/** The HTTP server of an agent server without its routes; authentication is off by default. */
export function bareHttpServer(parts: Partial<HttpServerParts> = {}): FastifyInstance {
  return buildHttpServer({
    verifier: undefined,
    readiness: { notReady: undefined, notServing: undefined, settled: Promise.resolve() },
    replies: new OpenReplies(),
    activity: new Activity(systemClock),
    unsent: new UnsentOutput({
      clock: systemClock,
      limits: { softBytes: 1e9, hardBytes: 1e9, lookMs: 500 },
      onCut: () => undefined,
    }),
    info: () => ({}),
    askDatabase: async () => undefined,
    log: createLogger('test', 'silent'),
    ...parts,
  });
}
