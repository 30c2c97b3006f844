import type { Migration } from '#lib/postgres';

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
