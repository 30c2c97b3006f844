import type { Migration } from '#lib/postgres';

/** Token prices of models in a workspace. Rows of the platform are data of its programs. */
export const modelPrices: Migration = {
  version: 26,
  name: 'prices of models',
  sql: `
CREATE TABLE model_prices (
  tenant_id               uuid NOT NULL,
  -- that of a row of the platform: the workspace's version of it
  id                      uuid NOT NULL,
  name                    text NOT NULL,
  -- RE2, found anywhere in the name of a model
  match_pattern           text NOT NULL,
  match_path              text[] NOT NULL,
  provider                text,
  start_time              timestamptz,
  -- dollars for a token, as plain decimals
  prompt_cost             text NOT NULL,
  completion_cost         text NOT NULL,
  prompt_cost_details     text,
  completion_cost_details text,
  is_disabled             boolean NOT NULL,
  created_at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, id)
);
`,
};

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

/** Requests to price stored runs again, with their progress. */
export const priceApplications: Migration = {
  version: 31,
  name: 'prices applied again',
  sql: `
CREATE TABLE price_applications (
  tenant_id     uuid NOT NULL,
  id            uuid NOT NULL,
  project_id    uuid NOT NULL,
  -- runs that began then or later, and before
  from_time     timestamptz NOT NULL,
  to_time       timestamptz NOT NULL,
  -- the last run that was looked at; null before the first
  reached_time  timestamptz,
  reached_id    uuid,
  reached_trace uuid,
  looked_at     bigint NOT NULL DEFAULT 0,
  changed       bigint NOT NULL DEFAULT 0,
  without_price bigint NOT NULL DEFAULT 0,
  requested_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  completed_at  timestamptz,
  -- of the last attempt
  problem       text,
  -- another process leaves it alone until then
  claimed_until timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (tenant_id, id)
);
CREATE INDEX price_applications_pending ON price_applications (tenant_id, requested_at) WHERE completed_at IS NULL;
`,
};
