import { fromMapped, fromObjects, isAlreadyExists, isNotFound, type ControllerSpec } from '#lib/kube';
import { done, type Result } from '#lib/reconcile';
import { CONFIG_MAPS, type KubeObject, NAMESPACES, type ObjectKey, SERVICE_ACCOUNTS } from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { isNamespaceTerminating } from '../workload/workload-condition.js';

const ACCOUNT = 'default';
const ROOT_CA = 'kube-root-ca.crt';

/** Every namespace has the ServiceAccount `default` and, where the CA is known, the ConfigMap `kube-root-ca.crt`. */
export function namespaceFurnitureController(
  context: ClusterContext,
  ca: string | undefined,
): ControllerSpec {
  const { informers } = context;
  const named = (name: string): { fieldSelector: string } => ({ fieldSelector: `metadata.name=${name}` });
  const namespaceOf = ({ metadata }: KubeObject): ObjectKey[] =>
    metadata.namespace === undefined ? [] : [{ name: metadata.namespace }];
  return {
    name: 'namespace-furniture',
    concurrency: 4,
    reconcile: (key) => furnish(context, ca, key),
    sources: [
      fromObjects(informers.of(NAMESPACES)),
      fromMapped(informers.of(SERVICE_ACCOUNTS, named(ACCOUNT)), namespaceOf),
      ...(ca === undefined ? [] : [fromMapped(informers.of(CONFIG_MAPS, named(ROOT_CA)), namespaceOf)]),
    ],
  };
}

async function furnish(context: ClusterContext, ca: string | undefined, key: ObjectKey): Promise<Result> {
  const { client, informers } = context;
  const namespace = informers.of(NAMESPACES).find(key);
  if (!namespace || namespace.metadata.deletionTimestamp !== undefined) return done();
  const accounts = informers.of(SERVICE_ACCOUNTS, { fieldSelector: `metadata.name=${ACCOUNT}` });
  if (!accounts.find({ namespace: key.name, name: ACCOUNT }))
    await unlessThere(() =>
      client.create(SERVICE_ACCOUNTS, { metadata: { namespace: key.name, name: ACCOUNT } }),
    );
  if (ca === undefined) return done();
  const maps = informers.of(CONFIG_MAPS, { fieldSelector: `metadata.name=${ROOT_CA}` });
  const map = maps.find({ namespace: key.name, name: ROOT_CA });
  const data = { 'ca.crt': ca };
  const annotations = {
    'kubernetes.io/description': 'The CA that signed the certificate of the API server.',
  };
  if (!map)
    await unlessThere(() =>
      client.create(CONFIG_MAPS, { metadata: { namespace: key.name, name: ROOT_CA, annotations }, data }),
    );
  else if (map.data?.['ca.crt'] !== ca)
    await client.merge(CONFIG_MAPS, { namespace: key.name, name: ROOT_CA }, { data });
  return done();
}

/** There already, or its namespace is going: both are fine. */
async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    const isGoing = isNamespaceTerminating(error);
    if (!isAlreadyExists(error) && !isNotFound(error) && !isGoing) throw error;
  }
}
