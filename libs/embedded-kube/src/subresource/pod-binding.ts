import type { Clock } from '#lib/time';
import {
  at,
  badRequest,
  conflict,
  internalError,
  type KubeObject,
  listAt,
  notFound,
  recordAt,
  textAt,
  textsAt,
  timestamp,
} from '#lib/kube-semantics';
import { json, type RequestContext } from '../http/request-context.js';
import type { ObjectService } from '../registry/object-service.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import { writeOptions } from '../registry/write-options.js';
import { readReview, type SubresourceHandler } from './subresource-handlers.js';

const PODS = { group: '', resource: 'pods' };

/** Binding: the scheduler's word on which node a pod runs. Once only. */
export function podBinding(
  objects: ObjectService,
  types: TypeRegistry,
  clock: Clock,
): readonly SubresourceHandler[] {
  const handle = async (context: RequestContext) => {
    const binding = await readReview(context, 'v1', 'Binding');
    const { namespace } = context.info;
    const name = context.info.resource === 'bindings' ? (binding.metadata.name ?? '') : context.info.name;
    const node = textAt(binding, ['target', 'name']);
    if (node === '') throw badRequest('target.name: Required value');
    const served = types.findServed('', 'v1', 'pods');
    if (!served) throw internalError('pods are not served');
    const bind = (pod: KubeObject): KubeObject => boundPod(pod, binding, node, clock.now());
    // through the status subresource of our own: the spec of a pod is immutable to every other writer
    await objects.bind({ served, namespace, name }, bind, {
      dryRun: writeOptions(context, 'CreateOptions').dryRun,
    });
    return json({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }, 201);
  };
  const at = { group: '', version: 'v1', handle };
  return [
    { ...at, resource: 'pods', subresource: 'binding' },
    { ...at, resource: 'bindings', subresource: '' },
  ];
}

function boundPod(pod: KubeObject, binding: KubeObject, node: string, now: Date): KubeObject {
  const name = pod.metadata.name ?? '';
  const uid = binding.metadata.uid;
  if (uid && uid !== pod.metadata.uid) {
    throw conflict(
      PODS,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid ?? ''}`,
    );
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(
      { group: '', resource: 'pods/binding' },
      name,
      `pod ${name} is being deleted, cannot be assigned to a host`,
    );
  }
  const current = textAt(pod, ['spec', 'nodeName']);
  if (current !== '') {
    throw conflict(
      { group: '', resource: 'pods/binding' },
      name,
      `pod ${name} is already assigned to node "${current}"`,
    );
  }
  const others = listAt(pod, 'status', 'conditions').filter(
    (condition) => at(condition, 'type') !== 'PodScheduled',
  );
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
  };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(binding.metadata.annotations
        ? { annotations: { ...pod.metadata.annotations, ...binding.metadata.annotations } }
        : {}),
    },
    spec: { ...recordAt(pod, 'spec'), nodeName: node },
    status: { ...recordAt(pod, 'status'), conditions: [...others, scheduled] },
  };
}

/** Eviction: a delete that a budget could forbid; here there are no budgets. */
export function podEviction(objects: ObjectService, types: TypeRegistry): SubresourceHandler {
  return {
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: 'eviction',
    handle: async (context) => {
      const eviction = await readReview(context, 'policy/v1', 'Eviction');
      const { namespace, name } = context.info;
      const { dryRun } = writeOptions(context, 'CreateOptions');
      const served = types.findServed('', 'v1', 'pods');
      if (!served) throw notFound(PODS, name);
      const grace = at(eviction, 'deleteOptions', 'gracePeriodSeconds');
      const uid = textAt(eviction, ['deleteOptions', 'preconditions', 'uid']);
      await objects.delete(
        { served, namespace, name },
        {
          dryRun: dryRun || textsAt(eviction, 'deleteOptions', 'dryRun').includes('All'),
          ...(typeof grace === 'number' ? { gracePeriodSeconds: grace } : {}),
          ...(uid ? { uid } : {}),
        },
      );
      return json({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }, 201);
    },
  };
}
