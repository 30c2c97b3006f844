import { ANNOTATION } from './label.js';
import type { KubeObject } from './kube-object.js';

/** The id of a resource on the wire: the annotation, or the uid until the controller has set it. Lower case. */
export function idOf(object: KubeObject): string | undefined {
  return (object.metadata.annotations?.[ANNOTATION.id] ?? object.metadata.uid)?.toLowerCase();
}
