import { fromMapped, fromObjects, type ControllerSpec } from '#lib/kube';
import { jsonEquals, stableJson } from '#lib/json';
import { done, type Result } from '#lib/reconcile';
import { CLUSTER_ROLES, type ClusterRole, type ObjectKey, type PolicyRule } from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { matchesSelector } from '../workload/claim.js';

/**
 * Fills ClusterRoles that have an `aggregationRule` with the rules of those that it selects: so `admin`,
 * `edit` and `view` cover the kinds of every author who labels a role of their own for them.
 */
export function roleAggregationController(context: ClusterContext): ControllerSpec {
  const roles = context.informers.of(CLUSTER_ROLES);
  const aggregates = (): ObjectKey[] =>
    roles.list().flatMap((role) => (role.aggregationRule ? [{ name: role.metadata.name }] : []));
  return {
    name: 'role-aggregation',
    concurrency: 1,
    reconcile: (key) => aggregate(context, key),
    sources: [fromObjects(roles), fromMapped(roles, aggregates)],
  };
}

async function aggregate({ client, informers }: ClusterContext, key: ObjectKey): Promise<Result> {
  const roles = informers.of(CLUSTER_ROLES);
  const role = roles.find(key);
  if (!role?.aggregationRule || role.metadata.deletionTimestamp !== undefined) return done();
  const rules = aggregatedRules(role, roles.list());
  if (jsonEquals(role.rules ?? [], rules)) return done();
  const { resourceVersion } = role.metadata;
  await client.merge(CLUSTER_ROLES, key, {
    metadata: resourceVersion === undefined ? {} : { resourceVersion },
    rules,
  });
  return done();
}

/** The rules of all selected roles in the order of their names, each once. */
function aggregatedRules(role: ClusterRole, all: readonly ClusterRole[]): readonly PolicyRule[] {
  const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
  const selected = all
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .filter(({ metadata }) => selectors.some((selector) => matchesSelector(selector, metadata.labels)))
    .sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  for (const rule of selected.flatMap((one) => one.rules ?? [])) rules.set(stableJson(rule), rule);
  return [...rules.values()];
}
