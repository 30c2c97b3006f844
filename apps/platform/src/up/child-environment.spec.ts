import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { apiEnvironment, controllerEnvironment, type Surroundings } from './child-environment.js';

const SURROUNDINGS = {
  ports: { controller: 1, rest: 2, apiMetrics: 3 },
  paths: { images: '/images', node: '/node', logs: '/logs', root: '/data' },
  store: {},
  attachmentKeys: {},
} as unknown as Surroundings;

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

/** Environment of `up`: a value for each setting of a program whose name the pattern finds. */
function givenTo(program: string, pattern: RegExp): Readonly<Record<string, string>> {
  const settings = readFileSync(`apps/${program}/src/config.ts`, 'utf8');
  const names = [...settings.matchAll(/'(AGENTPLANE_\w+)'/g)].map(([, name]) => String(name));
  const given = Object.fromEntries(
    names.filter((name) => pattern.test(name)).map((name, n) => [name, `${n}`]),
  );
  Object.assign(process.env, given);
  return given;
}

describe('the environment of the api', () => {
  it('has every limit that the platform was started with', () => {
    const given = givenTo('api', /_PER_WORKSPACE$|_PER_MINUTE$|_MAX_|_POOL_SIZE$/);
    expect(given).toHaveProperty('AGENTPLANE_DATASET_BYTES_PER_WORKSPACE');
    expect(apiEnvironment(SURROUNDINGS, '/kubeconfig')).toMatchObject(given);
  });
});

describe('the environment of the controller', () => {
  it('has every limit of exports that the platform was started with', () => {
    // the account of workers is one of a cluster
    const given = givenTo('controller', /^AGENTPLANE_EXPORT_(?!SERVICE_ACCOUNT$)/);
    expect(given).toHaveProperty('AGENTPLANE_EXPORT_RETRIES');
    expect(controllerEnvironment(SURROUNDINGS, '/kubeconfig')).toMatchObject(given);
  });
});

describe('the environment for the lake', () => {
  const STORE = {
    ...SURROUNDINGS,
    store: { endpoint: 'http://127.0.0.1:1', region: 'r' },
    attachmentKeys: { accessKeyId: 'AK', secretAccessKey: 'secret' },
  } as Surroundings;
  const ON = { AGENTPLANE_LAKE: 'on', AGENTPLANE_LAKE_QUIET_HOURS: '0' };
  const EMBEDDED = {
    AGENTPLANE_ATTACHMENT_BUCKET: 'agentplane-attachments',
    AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY: 'secret',
    AGENTPLANE_LAKE_PREFIX: 'lake',
  };

  it('seals into the embedded store by default, which no other database uses', () => {
    const settings = { ...EMBEDDED, AGENTPLANE_LAKE: 'on', AGENTPLANE_LAKE_ONLY_WRITER: 'true' };
    for (const environment of [apiEnvironment, controllerEnvironment])
      expect(environment(STORE, '/kubeconfig')).toMatchObject(settings);
  });

  it('seals into a store of one’s own only where it is switched on', () => {
    process.env['AGENTPLANE_ATTACHMENT_BUCKET'] = 'own';
    for (const environment of [apiEnvironment, controllerEnvironment])
      expect(environment(STORE, '/kubeconfig')).not.toHaveProperty('AGENTPLANE_LAKE');
  });

  it('gives the controller no keys while nothing is sealed', () => {
    process.env['AGENTPLANE_LAKE'] = 'off';
    expect(Object.keys(controllerEnvironment(STORE, '/kubeconfig')).join()).not.toContain('ATTACHMENT');
  });

  it('leads api and controller to the embedded store', () => {
    Object.assign(process.env, ON, { AGENTPLANE_LAKE_PREFIX: 'of another bucket' });
    for (const environment of [apiEnvironment, controllerEnvironment])
      expect(environment(STORE, '/kubeconfig')).toMatchObject({ ...ON, ...EMBEDDED });
  });

  it('takes a store of one’s own whole', () => {
    const own = { AGENTPLANE_ATTACHMENT_BUCKET: 'own', AGENTPLANE_LAKE_PREFIX: 'days' };
    Object.assign(process.env, ON, own);
    for (const environment of [apiEnvironment, controllerEnvironment]) {
      const found = environment(STORE, '/kubeconfig');
      expect(found).toMatchObject({ ...ON, ...own });
      expect(found).not.toHaveProperty('AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY');
      expect(found).not.toHaveProperty('AGENTPLANE_LAKE_ONLY_WRITER');
    }
  });
});
