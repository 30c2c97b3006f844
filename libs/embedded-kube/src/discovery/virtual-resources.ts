/** A resource or subresource that is answered and not stored. */
export interface VirtualResource {
  readonly group: string;
  readonly version: string;
  /** Plural name, or `PARENT/SUBRESOURCE`. */
  readonly resource: string;
  readonly kind: string;
  /** Group and version of the kind, when they are not those of the path. */
  readonly kindGroup?: string;
  readonly kindVersion?: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

const CREATE = ['create'];
const authentication = { group: 'authentication.k8s.io', version: 'v1', verbs: CREATE };
const authorization = { group: 'authorization.k8s.io', version: 'v1', verbs: CREATE };
const core = { group: '', version: 'v1', namespaced: true };

export const virtualResources: readonly VirtualResource[] = [
  { ...authentication, resource: 'selfsubjectreviews', kind: 'SelfSubjectReview', namespaced: false },
  { ...authentication, resource: 'tokenreviews', kind: 'TokenReview', namespaced: false },
  {
    ...authorization,
    resource: 'localsubjectaccessreviews',
    kind: 'LocalSubjectAccessReview',
    namespaced: true,
  },
  {
    ...authorization,
    resource: 'selfsubjectaccessreviews',
    kind: 'SelfSubjectAccessReview',
    namespaced: false,
  },
  {
    ...authorization,
    resource: 'selfsubjectrulesreviews',
    kind: 'SelfSubjectRulesReview',
    namespaced: false,
  },
  { ...authorization, resource: 'subjectaccessreviews', kind: 'SubjectAccessReview', namespaced: false },
  { ...core, resource: 'bindings', kind: 'Binding', verbs: CREATE },
  { ...core, resource: 'namespaces/finalize', kind: 'Namespace', namespaced: false, verbs: ['update'] },
  { ...core, resource: 'pods/binding', kind: 'Binding', verbs: CREATE },
  {
    ...core,
    resource: 'pods/eviction',
    kind: 'Eviction',
    kindGroup: 'policy',
    kindVersion: 'v1',
    verbs: CREATE,
  },
  { ...core, resource: 'pods/log', kind: 'Pod', verbs: ['get'] },
  {
    ...core,
    resource: 'serviceaccounts/token',
    kind: 'TokenRequest',
    kindGroup: 'authentication.k8s.io',
    kindVersion: 'v1',
    verbs: CREATE,
  },
];
