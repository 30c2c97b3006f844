import type { FastifyReply } from 'fastify';
import { PublicError } from '#lib/errors';

/**
 * Aborted when the client has its answer or goes away. Reading for it ends then, and its resources are
 * released.
 * @param leave called once, at the end
 * @throws PublicError unavailable when the client has gone already
 */
export function leaving({ raw }: FastifyReply, leave: () => void): AbortController {
  const left = new PublicError('unavailable', 'The client has gone');
  const controller = new AbortController();
  controller.signal.addEventListener('abort', leave, { once: true });
  // it would never be heard to close
  if (raw.destroyed) controller.abort(left);
  controller.signal.throwIfAborted();
  raw.once('close', () => controller.abort(left));
  return controller;
}
