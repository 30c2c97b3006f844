import type { Migration } from '#lib/postgres';
import { fillTotals } from '../run/trace-totals.js';
import { fillStatistics } from '../statistics/fold-statistics.js';

/** Tokens and costs of the calls of each trace, by project. */
export const traceTotals: Migration = {
  version: 45,
  name: 'totals of traces',
  sql: `
CREATE TABLE trace_totals (
  tenant_id  uuid NOT NULL,
  project_id uuid NOT NULL,
  trace_id   uuid NOT NULL,
  -- null where no call states it
  total_tokens      numeric(38),
  prompt_tokens     numeric(38),
  completion_tokens numeric(38),
  total_cost        numeric(38, 10),
  prompt_cost       numeric(38, 10),
  completion_cost   numeric(38, 10),
  -- how many calls state each of them
  total_tokens_calls      bigint NOT NULL,
  prompt_tokens_calls     bigint NOT NULL,
  completion_tokens_calls bigint NOT NULL,
  total_cost_calls        bigint NOT NULL,
  prompt_cost_calls       bigint NOT NULL,
  completion_cost_calls   bigint NOT NULL,
  -- the transaction that changed it last, as of runs
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (tenant_id, trace_id, project_id)
) WITH (fillfactor = 85);
`,
};

export const traceTotalsFilling: Migration = {
  version: 46,
  name: 'totals of traces from before',
  transaction: false,
  perform: fillTotals,
};

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
