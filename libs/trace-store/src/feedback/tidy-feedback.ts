import type { Queryable } from '#lib/postgres';
import { removeEndedTokens } from './feedback-token-table.js';
import { joinMissedFeedback } from './join-feedback.js';

/** What processes left that ended before they were done, and tokens that have ended. */
export async function tidyFeedback(db: Queryable): Promise<void> {
  await joinMissedFeedback(db);
  await removeEndedTokens(db);
}
