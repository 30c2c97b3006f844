import type { Migration } from '#lib/postgres';

/** Leave to give feedback to one run without a key. */
export const feedbackTokens: Migration = {
  version: 20,
  name: 'tokens of feedback',
  sql: `
CREATE TABLE feedback_tokens (
  tenant_id   uuid NOT NULL,
  id          uuid NOT NULL,
  -- SHA-256 of the token, which is nowhere else
  hash        bytea NOT NULL,
  run_id      uuid NOT NULL,
  -- the only project whose run it is for; null: of any
  project_id  uuid,
  key         text NOT NULL,
  config      text,
  -- of the feedback that is given with it; null: each has an id of its own
  feedback_id uuid,
  expires_at  timestamptz NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX feedback_tokens_hash ON feedback_tokens (hash);
CREATE INDEX feedback_tokens_run ON feedback_tokens (tenant_id, run_id, created_at);
CREATE INDEX feedback_tokens_end ON feedback_tokens (expires_at);
`,
};
