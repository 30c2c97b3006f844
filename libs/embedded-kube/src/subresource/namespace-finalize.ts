import { internalError, type KubeObject, listAt, methodNotAllowed, recordAt } from '#lib/kube-semantics';
import { json, type RequestContext } from '../http/request-context.js';
import type { ObjectService } from '../registry/object-service.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import { writeOptions } from '../registry/write-options.js';
import { readReview } from './review-body.js';
import type { SubresourceHandler } from './subresource-handlers.js';

/** `namespaces/NAME/finalize`: the only way to change `spec.finalizers`. */
export function namespaceFinalize(objects: ObjectService, types: TypeRegistry): SubresourceHandler {
  return {
    group: '',
    version: 'v1',
    resource: 'namespaces',
    subresource: 'finalize',
    handle: async (context: RequestContext) => {
      if (context.info.verb !== 'update') throw methodNotAllowed();
      const served = types.findServed('', 'v1', 'namespaces');
      if (!served) throw internalError('namespaces are not served');
      const options = writeOptions(context, 'UpdateOptions');
      const given = await readReview(context, 'v1', 'Namespace');
      const finalizers = listAt(given, 'spec', 'finalizers');
      const change = (current: KubeObject): KubeObject => ({
        ...current,
        metadata: { ...current.metadata, resourceVersion: given.metadata.resourceVersion },
        spec: { ...recordAt(current, 'spec'), finalizers },
      });
      const target = { served, namespace: '', name: context.info.name };
      const result = await objects.update(target, change, { ...options, subresource: 'finalize' });
      return json(result.object);
    },
  };
}
