import type { Migration } from '#lib/postgres';

/**
 * The inputs of a run's price, and the price that was applied: costs with a price_id are from the price
 * table, others are the sender's.
 */
export const runPrices: Migration = {
  version: 28,
  name: 'prices of runs',
  sql: `
ALTER TABLE runs
  ADD model text,
  -- which member named it; null for ls_model_name
  ADD model_member text,
  ADD provider text,
  ADD price_id uuid,
  -- tokens and costs by kind, as JSON; null without any
  ADD usage_details text;
`,
};
