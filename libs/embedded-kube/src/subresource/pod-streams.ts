import { ANNOTATION } from '#lib/resources';
import { ApiError, badRequest, notFound, textAt } from '#lib/kube-semantics';
import type { ObjectStore } from '../store/object-store.js';
import type { SubresourceHandler } from './subresource-handlers.js';

const INSTEAD: Readonly<Record<string, string>> = {
  exec: 'its processes run on this machine; inspect them with the tools of the machine',
  attach: 'read its output with "kubectl logs -f"',
  portforward: `its ports are open on 127.0.0.1 already; see its annotation ${ANNOTATION.loopbackPorts}`,
};

/** `pods/NAME/exec`, `attach` and `portforward` are not served; the answer names the alternative. */
export function podStreams(store: ObjectStore): readonly SubresourceHandler[] {
  return Object.entries(INSTEAD).map(([subresource, instead]) => ({
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource,
    handle: ({ info: { namespace, name } }) => {
      const pod = store.get({ resource: 'pods', namespace, name })?.object;
      if (!pod) throw notFound({ group: '', resource: 'pods' }, name);
      if (textAt(pod, ['spec', 'nodeName']) === '')
        throw badRequest(`pod ${name} does not have a host assigned`);
      const message = `${subresource} is not supported on a node that runs pods as processes: ${instead}`;
      throw new ApiError(405, 'MethodNotAllowed', message, {});
    },
  }));
}
