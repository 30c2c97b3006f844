import type { Migration } from '#lib/postgres';

/** A key that tokens of feedback are signed with; those whose runs have not arrived are counted. */
export const signedFeedbackTokens: Migration = {
  version: 29,
  name: 'signed tokens of feedback',
  sql: `
-- keys that all processes of the platform share
CREATE TABLE signing_keys (
  name text PRIMARY KEY,
  key  bytea NOT NULL
);
INSERT INTO signing_keys VALUES ('feedback tokens', sha256(convert_to(
  gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
-- they are not signed, and would not be known any more
DELETE FROM feedback_tokens;
-- the run had not arrived when the token was made, or last looked for
ALTER TABLE feedback_tokens ADD COLUMN waits boolean NOT NULL;
CREATE INDEX feedback_tokens_waiting ON feedback_tokens (tenant_id) WHERE waits;
`,
};
