import type { Migration } from '#lib/postgres';

/** Number of listed versions of a dataset: the oldest are removed when there are too many. */
export const listedVersions: Migration = {
  version: 39,
  name: 'number of versions of a dataset',
  sql: `
ALTER TABLE datasets ADD COLUMN listed_versions bigint NOT NULL DEFAULT 0;
UPDATE datasets d SET listed_versions = v.count FROM (
  SELECT tenant_id, dataset_id, count(*) AS count FROM dataset_versions GROUP BY 1, 2
) v WHERE v.tenant_id = d.tenant_id AND v.dataset_id = d.id;
`,
};
