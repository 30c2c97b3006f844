import type { FastifyReply } from 'fastify';
import { BufferBudget, type BufferAccount } from '#lib/http';

/** What answers hold until their callers have read them. */
export class AnswerBudget extends BufferBudget {
  constructor(maxBytes: number) {
    super(maxBytes, 'Reading failed: too much is read at once; finish reading earlier answers, or try again');
  }

  /**
   * Sends an answer; what it holds is given back once its caller has it, or has gone.
   * @param produce makes the answer, and says what it holds before it does
   */
  async send(
    reply: FastifyReply,
    tenantId: string,
    produce: (account: BufferAccount) => Promise<unknown>,
  ): Promise<void> {
    const account = this.open(tenantId);
    const { raw } = reply;
    try {
      const answer = await produce(account);
      if (raw.destroyed) account.keep(0);
      else raw.once('close', () => account.keep(0));
      void reply.send(answer);
    } catch (error) {
      account.keep(0);
      throw error;
    }
  }
}
