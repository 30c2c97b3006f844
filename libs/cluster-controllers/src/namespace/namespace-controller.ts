import { fromObjects, isConflict, isNotFound, type ControllerSpec } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import { type Namespace, NAMESPACES, type ObjectKey, type WorkloadCondition } from '#lib/resources';
import type { ClusterContext } from '../context/cluster-context.js';
import type { Discovery } from '../context/discovery.js';
import { replaceStatus } from '../workload/replace-status.js';
import { deleteContent, type Remaining } from './namespace-content.js';
import { summarizeDeletion } from './summarize-deletion.js';

const FINALIZER = 'kubernetes';
const AGAIN_MS = 500;
const LONGEST_MS = 30_000;

/** Empties namespaces that are being deleted, then lets them go. */
export function namespaceController(context: ClusterContext, discovery: Discovery): ControllerSpec {
  const namespaces = context.informers.of(NAMESPACES);
  return {
    name: 'namespace',
    concurrency: 4,
    // waiting for pods to end is no failure
    backoff: { firstMs: 100, longestMs: 10_000 },
    reconcile: (key) => finishNamespace(context, discovery, key),
    sources: [fromObjects(namespaces, ({ object }) => object.metadata.deletionTimestamp !== undefined)],
  };
}

async function finishNamespace(
  context: ClusterContext,
  discovery: Discovery,
  key: ObjectKey,
): Promise<Result> {
  const { client, clock } = context;
  const namespace = await client.find(NAMESPACES, key);
  if (!namespace?.metadata.deletionTimestamp || !namespace.spec?.finalizers?.includes(FINALIZER))
    return done();
  const remaining = await deleteContent(client, await discovery.resources(), key.name);
  const conditions = (namespace.status?.conditions ?? []) as readonly WorkloadCondition[];
  const status = {
    ...namespace.status,
    phase: 'Terminating' as const,
    conditions: summarizeDeletion(conditions, remaining, clock.now()),
  };
  try {
    const written = await replaceStatus(client, context.informers.of(NAMESPACES), namespace, status);
    if (!isEmpty(remaining)) return after(pauseMs(namespace, clock.now()));
    await finalize(context, written);
  } catch (error) {
    // marked or deleted meanwhile
    if (isConflict(error)) return after(AGAIN_MS);
    if (!isNotFound(error)) throw error;
  }
  return done();
}

/** A tenth of what it has taken: what a finalizer keeps may be kept for days, and each look lists everything. */
function pauseMs({ metadata }: Namespace, now: Date): number {
  const tookMs = now.getTime() - Date.parse(metadata.deletionTimestamp ?? '');
  return Math.min(LONGEST_MS, Math.max(AGAIN_MS, tookMs / 10 || 0));
}

function isEmpty({ resources, problems }: Remaining): boolean {
  return resources.size === 0 && problems.length === 0;
}

async function finalize({ client }: ClusterContext, namespace: Namespace): Promise<void> {
  const finalizers = namespace.spec?.finalizers?.filter((name) => name !== FINALIZER) ?? [];
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace.metadata.name)}/finalize`;
  const body = { ...namespace, apiVersion: 'v1', kind: 'Namespace', spec: { ...namespace.spec, finalizers } };
  await client.raw('PUT', path, { body });
}
