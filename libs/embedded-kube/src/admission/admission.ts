import type { KubeObject } from '#lib/kube-semantics';
import type { Admission } from './admission-request.js';
import { admitNamespace } from './namespace-lifecycle.js';
import { admitPod } from './pod-defaults.js';
import { admitService } from './service-address.js';

/** The object as the cluster's rules complete it. Throws when they refuse it. */
export function admitNew(object: KubeObject, admission: Admission): KubeObject {
  admitNamespace(object, admission);
  if (admission.type.group !== '') return object;
  if (admission.type.resource === 'pods') return admitPod(object, admission);
  if (admission.type.resource === 'services') return admitService(object);
  return object;
}
