import type { Pool } from '#lib/postgres';
import { removeEndedTokens } from './feedback-token-table.js';
import { joinMissedFeedback } from './join-feedback.js';

/** Completes the work of processes that ended early, and removes tokens that have ended. */
export async function tidyFeedback(pool: Pool): Promise<void> {
  await joinMissedFeedback(pool);
  await removeEndedTokens(pool);
}
