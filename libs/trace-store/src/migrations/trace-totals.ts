import type { Migration } from '#lib/postgres';
import { fillTotals } from '../run/fill-totals.js';

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
