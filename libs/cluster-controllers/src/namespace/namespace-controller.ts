import { errorText } from '#lib/errors';
import {
  type ControllerSpec,
  type DiscoveredResource,
  fromObjects,
  isConflict,
  isNotFound,
  type KubeClient,
} from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import {
  findCondition,
  keyOf,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type ObjectKey,
  type WorkloadCondition,
} from '#lib/resources';
import type { ClusterContext, Discovery } from '../context/discovery.js';
import { type ConditionFields, replaceStatus, timeText } from '../workload/workload-condition.js';

/** Limit per look. */
const MAX_PROBLEMS = 25;

/** Remaining content of a namespace that is being deleted. */
interface Remaining {
  /** `pods.` or `widgets.example.com` → number. */
  readonly resources: ReadonlyMap<string, number>;
  /** Finalizer → number of objects that it keeps. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Failures of listing and deleting, in words. */
  readonly problems: readonly string[];
}

/** Asks for the deletion of everything in a namespace, kind by kind, and says what is still there. */
export async function deleteContent(
  client: KubeClient,
  resources: readonly DiscoveredResource[],
  namespace: string,
): Promise<Remaining> {
  const left = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const problems: string[] = [];
  for (const ref of resources) {
    if (!ref.namespaced || !ref.verbs.includes('list') || !ref.verbs.includes('delete')) continue;
    try {
      const { items } = await client.list<KubeObject>(ref, { namespace, metadataOnly: true });
      let remaining = 0;
      for (const object of items)
        try {
          if (await isLeft(client, ref, object)) remaining++;
        } catch (error) {
          if (isNotFound(error)) continue;
          // one that cannot be deleted keeps none of the others
          remaining++;
          if (problems.length < MAX_PROBLEMS) problems.push(errorText(error));
        }
      if (remaining > 0) left.set(`${ref.plural}.${ref.group}`, remaining);
      for (const name of items.flatMap(({ metadata }) => metadata.finalizers ?? []))
        finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
    } catch (error) {
      // the kind went away meanwhile, and its objects with it
      if (!isNotFound(error)) problems.push(errorText(error));
    }
  }
  return { resources: left, finalizers, problems };
}

/** Deletes an object; whether it is still there afterwards. */
async function isLeft(client: KubeClient, ref: DiscoveredResource, object: KubeObject): Promise<boolean> {
  const { uid, deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined) return true;
  await client.delete(ref, keyOf(object), uid === undefined ? {} : { uid });
  return ref.plural === 'pods' || finalizers.length > 0;
}

/** The conditions of a namespace that is being deleted, in Kubernetes' words. */
export function summarizeDeletion(
  conditions: readonly WorkloadCondition[],
  remaining: Remaining,
  now: Date,
): readonly WorkloadCondition[] {
  const drafts: readonly ConditionFields[] = [
    flag(
      'NamespaceDeletionDiscoveryFailure',
      false,
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ),
    flag(
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    remaining.problems.length > 0
      ? flag(
          'NamespaceDeletionContentFailure',
          true,
          'ContentDeletionFailed',
          `Failed to delete all resource types, ${remaining.problems.length} remaining: ${firstOf(remaining.problems)}`,
        )
      : flag(
          'NamespaceDeletionContentFailure',
          false,
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        ),
    remaining.resources.size > 0
      ? flag(
          'NamespaceContentRemaining',
          true,
          'SomeResourcesRemain',
          `Some resources are remaining: ${counted(remaining.resources, 'has', 'resource instances')}`,
        )
      : flag('NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed'),
    remaining.finalizers.size > 0
      ? flag(
          'NamespaceFinalizersRemaining',
          true,
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${counted(remaining.finalizers, 'in', 'resource instances')}`,
        )
      : flag(
          'NamespaceFinalizersRemaining',
          false,
          'ContentHasNoFinalizers',
          'All content-preserving finalizers finished',
        ),
  ];
  return drafts.map((draft) => {
    const before = findCondition(conditions, draft.type);
    const lastTransitionTime = before?.status === draft.status ? before.lastTransitionTime : timeText(now);
    return { ...draft, lastTransitionTime: lastTransitionTime ?? timeText(now) };
  });
}

function flag(type: string, isTrue: boolean, reason: string, message: string): ConditionFields {
  return { type, status: isTrue ? 'True' : 'False', reason, message };
}

function counted(counts: ReadonlyMap<string, number>, verb: string, what: string): string {
  return firstOf([...counts].map(([name, count]) => `${name} ${verb} ${count} ${what}`).sort());
}

/** Objects name finalizers as they like: a status with all would be too large to be stored, and be tried again. */
const MAX_NAMED = 20;

function firstOf(texts: readonly string[]): string {
  const named = texts.slice(0, MAX_NAMED).join(', ');
  return texts.length > MAX_NAMED ? `${named}, and ${texts.length - MAX_NAMED} more` : named;
}

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
  const conditions = namespace.status?.conditions ?? [];
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
