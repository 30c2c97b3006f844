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
