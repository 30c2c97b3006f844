import type { Migration } from '#lib/postgres';
import { fillStatistics } from '../statistics/fill-statistics.js';

/** Sums of runs by hour and day. */
export const runStatistics: Migration = {
  version: 14,
  name: 'statistics of runs',
  sql: `
CREATE TABLE run_statistics (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  hour       timestamptz NOT NULL,
  is_root    boolean NOT NULL,
  -- empty for types that are none of the clients'
  run_type   text NOT NULL,
  -- 0 what a batch has added, 1 an hour, 2 a day
  span       smallint NOT NULL,
  sums       bytea NOT NULL
);
-- Each row is in one of them.
CREATE INDEX run_statistics_folded ON run_statistics (tenant_id, project_id, span, hour) WHERE span > 0;
CREATE INDEX run_statistics_unfolded ON run_statistics (tenant_id, project_id, hour) WHERE span = 0;
-- How far the first filling came; goes with its end.
CREATE TABLE run_statistics_filled (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  up_to      timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, project_id)
);
`,
};

export const runStatisticsFilling: Migration = {
  version: 15,
  name: 'statistics of runs from before',
  transaction: false,
  perform: fillStatistics,
};
