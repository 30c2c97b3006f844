import {
  at,
  type KubeObject,
  listAt,
  recordAt,
  textAt,
  textsAt,
  timestamp,
  withField,
} from '#lib/kube-semantics';

/** Holds a CRD until its objects are deleted. */
export const CRD_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

/** The CRD with the status of one whose names are accepted and which is served: here that is so at once. */
export function completeCrd(crd: KubeObject, old: KubeObject | undefined, now: Date): KubeObject {
  const storage = listAt(crd, 'spec', 'versions')
    .filter((version) => at(version, 'storage') === true)
    .map((version) => textAt(version, ['name']));
  const storedVersions = [...new Set([...textsAt(old, 'status', 'storedVersions'), ...storage])];
  const conditions = listAt(old, 'status', 'conditions');
  const finalizers = crd.metadata.finalizers ?? [];
  const isDeleting = crd.metadata.deletionTimestamp !== undefined;
  const metadata =
    isDeleting || finalizers.includes(CRD_FINALIZER)
      ? crd.metadata
      : { ...crd.metadata, finalizers: [...finalizers, CRD_FINALIZER] };
  return withField({ ...crd, metadata }, 'status', {
    ...recordAt(crd, 'status'),
    acceptedNames: recordAt(crd, 'spec', 'names'),
    conditions: conditions.length > 0 ? conditions : established(timestamp(now)),
    storedVersions,
  });
}

function established(lastTransitionTime: string): readonly unknown[] {
  return [
    {
      lastTransitionTime,
      message: 'no conflicts found',
      reason: 'NoConflicts',
      status: 'True',
      type: 'NamesAccepted',
    },
    {
      lastTransitionTime,
      message: 'the initial names have been accepted',
      reason: 'InitialNamesAccepted',
      status: 'True',
      type: 'Established',
    },
  ];
}
