/** Verbs of kinds that the server knows by name alone. */
export const ABSENT_VERBS: readonly string[] = ['get', 'list', 'watch'];

/** The verbs every stored resource serves, in the order of discovery. */
export const STORED_VERBS: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];
