import { randomUUID } from 'node:crypto';
import { deploymentDatabases } from '#lib/deployment-database';
import { ANNOTATION, NAMESPACES, type Secret, SECRETS } from '#lib/resources';
import { FakeClock, testEmbeddedKube, testPostgres, testKubeClient } from '#lib/testing';
import { DeploymentProvisioning } from './provision.js';
import { secretValue } from './require-owned.js';
import { deployment } from './testdata/sample-world.js';

const KEY = { namespace: 'ws-x', name: 'a-database' };
const TENANT = '11111111-1111-4111-8111-111111111111';
const DEPLOYMENT = deployment({}, { uid: randomUUID(), annotations: { [ANNOTATION.id]: randomUUID() } }, {});

describe('DeploymentProvisioning', () => {
  const postgres = testPostgres();
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  const clock = new FakeClock();

  beforeAll(async () => {
    await client.create(NAMESPACES, { metadata: { name: 'ws-x' } });
  });

  /** The controller as it is started with these certificates. */
  const started = (trustedCa?: string, passwordDays = 0): DeploymentProvisioning => {
    const unused = () => Promise.reject(new Error('has no part in databases'));
    return new DeploymentProvisioning(client, {
      projects: { ensure: unused, find: unused },
      apiKeys: { mint: unused, revokeOfDeployment: unused },
      databases: deploymentDatabases,
      servers: {
        isOffered: false,
        find: () => Promise.resolve(undefined),
        ensure: () => Promise.resolve(undefined),
        release: () => Promise.resolve(),
      },
      adminUri: postgres.uri,
      trustedCa,
      passwordDays,
      clock,
      runsProcesses: false,
    });
  };
  const stored = async (): Promise<{ ca: string | undefined; mark: string | undefined }> => {
    const { data, metadata }: Secret = await client.get(SECRETS, KEY);
    return { ca: data?.['ca.crt'], mark: metadata.annotations?.[ANNOTATION.database] };
  };

  it('has pods started anew when the certificates that they trust change', async () => {
    await started().ensureDatabase(DEPLOYMENT, TENANT, false);
    expect(await stored()).toEqual({ ca: undefined, mark: undefined });
    expect(await started().findDatabase(DEPLOYMENT)).toMatchObject({ isCurrent: true });

    const trusting = started('PEM');
    expect(await trusting.findDatabase(DEPLOYMENT)).toMatchObject({ isCurrent: false });
    await trusting.ensureDatabase(DEPLOYMENT, TENANT, false);
    const first = await stored();
    expect(first).toEqual({ ca: 'UEVN', mark: expect.any(String) });
    expect(await trusting.findDatabase(DEPLOYMENT)).toMatchObject({ isCurrent: true, mark: first.mark });
    await trusting.ensureDatabase(DEPLOYMENT, TENANT, false);
    expect(await stored()).toEqual(first);

    await started().ensureDatabase(DEPLOYMENT, TENANT, false);
    const last = await stored();
    expect(last).toEqual({ ca: undefined, mark: expect.any(String) });
    expect(last.mark).not.toBe(first.mark);
  });

  it('replaces passwords that are old, and has pods started anew', async () => {
    const { metadata } = DEPLOYMENT;
    const other = { ...DEPLOYMENT, metadata: { ...metadata, name: 'c', uid: randomUUID() } };
    const key = { ...KEY, name: 'c-database' };
    const uriOf = async (): Promise<string | undefined> =>
      secretValue(await client.get(SECRETS, key), 'POSTGRES_URI');
    const rotating = started(undefined, 30);
    await rotating.ensureDatabase(other, TENANT, false);
    const first = await uriOf();
    const { creationTimestamp = '' } = (await client.get(SECRETS, key)).metadata;
    await clock.advance(Date.parse(creationTimestamp) - clock.now().getTime() + 29 * 86_400_000);
    expect(await rotating.findDatabase(other)).toMatchObject({ isCurrent: true });
    await clock.advance(2 * 86_400_000);
    expect(await started().findDatabase(other)).toMatchObject({ isCurrent: true });
    expect(await rotating.findDatabase(other)).toMatchObject({ isCurrent: false });
    await rotating.ensureDatabase(other, TENANT, false);
    expect(await uriOf()).not.toBe(first);
    expect(await rotating.findDatabase(other)).toMatchObject({ isCurrent: true, mark: expect.any(String) });
    await rotating.ensureDatabase(other, TENANT, false);
    expect(await rotating.findDatabase(other)).toMatchObject({ isCurrent: true });
  });

  it('marks a database that had certificates from the first, as pods without a mark do not read them', async () => {
    const { metadata } = DEPLOYMENT;
    const other = { ...DEPLOYMENT, metadata: { ...metadata, name: 'b', uid: randomUUID() } };
    const key = { ...KEY, name: 'b-database' };
    const trusting = started('PEM');
    await trusting.ensureDatabase(other, TENANT, false);
    const { metadata: made } = await client.get(SECRETS, key);
    expect(made.annotations?.[ANNOTATION.database]).toEqual(expect.any(String));
    expect(await trusting.findDatabase(other)).toMatchObject({ isCurrent: true });

    await client.mergeMetadata(SECRETS, key, { annotations: { [ANNOTATION.database]: null } });
    expect(await trusting.findDatabase(other)).toMatchObject({ isCurrent: false });
    await trusting.ensureDatabase(other, TENANT, false);
    expect(await trusting.findDatabase(other)).toMatchObject({ isCurrent: true, mark: expect.any(String) });
  });
});
