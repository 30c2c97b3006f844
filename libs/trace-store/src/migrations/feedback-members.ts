import type { Migration } from '#lib/postgres';

/** Members that clients send with feedback beside its key, score and value, and the run that it waits for. */
export const feedbackMembers: Migration = {
  version: 13,
  name: 'members of feedback',
  sql: `
ALTER TABLE feedback
  -- what the sender said of the run; where the run lies stands in project_id, trace_id and start_time
  ADD named_project_id uuid,
  ADD named_trace_id uuid,
  ADD named_start_time timestamptz,
  -- null once it has met its run, and for feedback of a project
  ADD waits_since timestamptz,
  -- the score was true or false, stored as 1 or 0
  ADD is_flag boolean NOT NULL DEFAULT false,
  ADD is_error boolean,
  -- JSON texts as they came; value has the text of one that is no object or list
  ADD value_json text,
  ADD source_json text,
  ADD config text,
  ADD extra text,
  ADD extends_retention boolean,
  ADD comparative_experiment_id uuid,
  ADD feedback_group_id uuid;
-- what waits is little, and looked for with every batch of runs
CREATE INDEX feedback_waiting ON feedback (tenant_id, run_id) WHERE waits_since IS NOT NULL;
-- lists are in the order of creation
CREATE INDEX feedback_created ON feedback (tenant_id, created_at, id);
`,
};
