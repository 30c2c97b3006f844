import type { FastifyReply } from 'fastify';
import { Admission, type Place } from '#lib/admission';
import { PublicError } from '#lib/errors';

/** Budget of the memory that answers hold until their callers have read them. */
export class AnswerBudget extends Admission {
  constructor(maxBytes: number) {
    super({
      capacity: maxBytes,
      halves: true,
      refusal: 'Reading failed: too much is read at once; finish reading earlier answers, or try again',
    });
  }

  /**
   * Sends an answer; its memory is released once its caller has it, or has gone.
   * @param produce makes the answer, and counts its memory before it does
   */
  async send(
    reply: FastifyReply,
    tenantId: string,
    produce: (account: Place) => Promise<unknown>,
  ): Promise<void> {
    const account = this.open(tenantId);
    const { raw } = reply;
    let hasGone = raw.destroyed;
    raw.once('close', () => {
      hasGone = true;
      account.keep(0);
    });
    const hold = (bytes: number): void => {
      // the bytes would never be released
      if (hasGone) throw new PublicError('unavailable', 'The client has gone');
      account.hold(bytes);
    };
    try {
      void reply.send(await produce({ ...account, hold }));
    } catch (error) {
      account.keep(0);
      throw error;
    }
  }

  /**
   * Sends an answer whose reading ends when its client has it or goes away.
   * @param leave called once, at the end
   * @throws PublicError unavailable when the client has gone already
   */
  async sendWatched(
    reply: FastifyReply,
    tenantId: string,
    leave: () => void,
    produce: (account: Place, signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    const client = leaving(reply, leave);
    try {
      await this.send(reply, tenantId, (account) => produce(account, client.signal));
    } catch (error) {
      client.abort(error);
      throw error;
    }
  }
}

/** Aborted when the client has its answer or goes away, so that its resources are released. */
function leaving({ raw }: FastifyReply, leave: () => void): AbortController {
  const left = new PublicError('unavailable', 'The client has gone');
  const controller = new AbortController();
  controller.signal.addEventListener('abort', leave, { once: true });
  // it would never be heard to close
  if (raw.destroyed) controller.abort(left);
  controller.signal.throwIfAborted();
  raw.once('close', () => controller.abort(left));
  return controller;
}
