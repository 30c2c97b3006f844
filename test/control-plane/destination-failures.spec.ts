import { describe, expect, it } from '@jest/globals';
import { type BulkExportDestination, findCondition, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { NAMESPACE } from './control-plane.js';
import { ExportPlane } from './export-plane.js';

const KEYS = { access_key_id: 'AKTEST', secret_access_key: 'secret' };

interface Shown {
  readonly display_name: string;
  readonly status_reason: string;
  readonly status_message: string;
}

/** The table of the interface: how a destination fails, and in which words. */
const FAILURES: readonly (readonly [string, Partial<typeof KEYS>, { bucket?: string; endpoint?: string }])[] =
  [
    ['Access denied', { secret_access_key: 'wrong' }, {}],
    ['Bucket is not valid', {}, { bucket: 'nowhere' }],
    ['Key ID you provided does not exist', { access_key_id: 'AKNOBODY' }, {}],
    ['Invalid endpoint', {}, { endpoint: 'http://127.0.0.1:9' }],
  ];

describe('the failure table of destinations', () => {
  const exports = new ExportPlane({ api: { AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true' } });
  let count = 0;

  it.each(FAILURES)(
    'says %s to a request, and to a manifest in both interfaces',
    async (words, keys, place) => {
      const name = `d${++count}`;
      const { client } = exports.plane;
      const local = await client.get(RESOURCES.BulkExportDestination, exports.at('local'));
      const config = {
        ...local.spec.config,
        bucketName: place.bucket ?? local.spec.config.bucketName,
        endpointUrl: place.endpoint ?? local.spec.config.endpointUrl ?? '',
      };
      const credentials = { ...KEYS, ...keys };
      const requested = await exports.rest<{ readonly detail: string }>(
        '/destinations',
        'POST',
        {},
        {
          destination_type: 'object_store',
          display_name: 'requested',
          credentials,
          config: { bucket_name: config.bucketName, endpoint_url: config.endpointUrl },
        },
      );
      expect([requested.status, requested.body.detail.split(':')[0]]).toEqual([400, words]);

      const stringData = credentials;
      await client.create(SECRETS, { metadata: { namespace: NAMESPACE, name }, stringData });
      await client.create(RESOURCES.BulkExportDestination, {
        metadata: { namespace: NAMESPACE, name },
        spec: { type: 'object_store', config, credentialsSecretRef: { name } },
      });
      const ready = async () => {
        const found: BulkExportDestination = await client.get(
          RESOURCES.BulkExportDestination,
          exports.at(name),
        );
        const condition = findCondition(found.status?.conditions, 'Ready');
        return condition?.message.startsWith(words) ? condition : undefined;
      };
      const { reason, message } = await waitFor(ready, { what: `${name} to say ${words}` });
      const shown = async () => {
        const { body } = await exports.rest<readonly Shown[]>('/destinations');
        const found = body.find(({ display_name }) => display_name === name);
        return found?.status_message === message ? found : undefined;
      };
      const found = await waitFor(shown, { what: `REST to say ${message}` });
      expect([found.status_reason, found.status_message]).toEqual([reason, message]);
    },
  );
});
