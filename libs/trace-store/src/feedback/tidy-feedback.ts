import type { Pool } from '#lib/postgres';
import { removeEndedTokens } from './feedback-token-table.js';
import { joinMissedFeedback } from './join-feedback.js';

/** What processes left that ended before they were done, and tokens that have ended. */
export async function tidyFeedback(pool: Pool): Promise<void> {
  await joinMissedFeedback(pool);
  await removeEndedTokens(pool);
}
