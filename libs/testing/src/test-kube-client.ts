import { afterAll, beforeAll } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';

/** A client of a test's API server, open while the tests of the block run. */
export function testKubeClient(server: { readonly kubeconfigPath: string }): KubeClient {
  let client: KubeClient;
  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'test' });
  });
  afterAll(() => client.close());
  return new Proxy({} as KubeClient, {
    get: (_, name) => {
      const member: unknown = Reflect.get(client, name, client);
      return typeof member === 'function' ? member.bind(client) : member;
    },
  });
}
