import { isNotFound, KubeApiError } from '#lib/kube';

/** Nothing can be made any more in a namespace that is being deleted or gone; its objects go with it, so it is no failure. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (isNotFound(error)) return error.details.kind === 'namespaces';
  return (
    error instanceof KubeApiError &&
    (error.details.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}
