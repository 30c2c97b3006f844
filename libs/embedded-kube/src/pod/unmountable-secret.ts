import { type KubeObject, textAt } from '#lib/kube-semantics';
import { SECRET_TYPE } from '#lib/resources';

const UNMOUNTABLE: ReadonlySet<string> = new Set(Object.values(SECRET_TYPE));

/**
 * Whether a Secret is for the platform's own programs, which read it by name, and for no pod. Who may create pods in a
 * namespace, a listener for one, could otherwise have every Secret there shown to a pod without the right to read any.
 */
export function isUnmountable(secret: KubeObject): boolean {
  return UNMOUNTABLE.has(textAt(secret, ['type']));
}
