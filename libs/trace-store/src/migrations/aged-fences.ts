import type { Migration } from '#lib/postgres';

/** Fences of exports that have long ended are removed. */
export const agedFences: Migration = {
  version: 49,
  name: 'times of export fences',
  sql: `ALTER TABLE export_fences ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now()`,
};
