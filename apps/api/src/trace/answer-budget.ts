import { BufferBudget } from '#lib/http';

/** What answers hold until their callers have read them. */
export class AnswerBudget extends BufferBudget {
  constructor(maxBytes: number) {
    super(maxBytes, 'Reading failed: too much is read at once; finish reading earlier answers, or try again');
  }
}
