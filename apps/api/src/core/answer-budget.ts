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
}
