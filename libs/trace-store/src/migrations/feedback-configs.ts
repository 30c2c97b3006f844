import type { Migration } from '#lib/postgres';

/** Configurations of feedback keys, by workspace. */
export const feedbackConfigs: Migration = {
  version: 30,
  name: 'configurations of feedback',
  sql: `
CREATE TABLE feedback_configs (
  tenant_id             uuid NOT NULL,
  key                   text NOT NULL,
  id                    uuid NOT NULL,
  -- JSON text
  config                text NOT NULL,
  is_lower_score_better boolean NOT NULL,
  modified_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, key)
);
`,
};
