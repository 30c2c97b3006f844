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
