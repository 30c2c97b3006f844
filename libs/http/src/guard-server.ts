import type { FastifyInstance } from 'fastify';
import { answerBrokenRequests, requireHost } from './broken-requests.js';
import { protectAnswer } from './protect-answer.js';

/** Option `http` of a guarded server: requests that Node would refuse with an empty body are refused here. */
export const GUARDED_SERVER = { requireHostHeader: false } as const;

/** Gives every answer of a Fastify server its protective headers, and every broken request an answer in one shape. */
export function guardServer(server: FastifyInstance): void {
  answerBrokenRequests(server.server);
  // no promise: it would cost every request more than the hook itself
  server.addHook('onRequest', (request, reply, done) => {
    protectAnswer(reply.raw);
    try {
      requireHost(request.raw);
    } catch (error) {
      return done(error instanceof Error ? error : new Error(String(error)));
    }
    done();
  });
}
