import { beforeAll, describe, expect, it } from '@jest/globals';
import { EVENTS, NAMESPACES, type StatefulSet } from '#lib/resources';
import { testEmbeddedKube, testKubeClient } from '#lib/testing';
import { serverTrouble } from './database-servers.js';

describe('serverTrouble', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  const key = { namespace: 'ws-a', name: 'agent-postgres' };

  beforeAll(async () => {
    await client.create(NAMESPACES, { metadata: { name: key.namespace } });
  });

  it('reads few events, and little of each: anybody of the namespace may write them', async () => {
    for (let at = 10; at < 40; at++)
      await client.create(EVENTS, {
        metadata: { namespace: key.namespace, name: `event-${at}` },
        involvedObject: { kind: 'StatefulSet', name: key.name, namespace: key.namespace },
        type: 'Warning',
        reason: 'FailedCreate',
        lastTimestamp: '2026-05-01T12:00:00Z',
        message: `${at} ${'x'.repeat(20_000)}`,
      });
    const trouble = await serverTrouble(client, key, {} as StatefulSet);
    expect(trouble).toHaveLength(1_000);
    // the thirty are sorted by their names, and twenty are read
    expect(Number(trouble.slice(0, 2))).toBeLessThan(30);
  });
});
