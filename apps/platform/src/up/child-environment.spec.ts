import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { controllerEnvironment, type Surroundings } from './child-environment.js';

const SURROUNDINGS = {
  ports: { controller: 1 },
  paths: { images: '/images', node: '/node' },
} as unknown as Surroundings;

describe('the environment of the controller', () => {
  const before = { ...process.env };
  afterEach(() => {
    process.env = { ...before };
  });

  it('has every limit of exports that the platform was started with', () => {
    const settings = readFileSync('apps/controller/src/config.ts', 'utf8');
    const names = [...settings.matchAll(/'(AGENTPLANE_EXPORT_\w+)'/g)].map(([, name]) => String(name));
    expect(names).toContain('AGENTPLANE_EXPORT_RETRIES');
    const given = Object.fromEntries(names.map((name, n) => [name, String(n + 1)]));
    Object.assign(process.env, given);
    expect(controllerEnvironment(SURROUNDINGS, '/kubeconfig')).toMatchObject(given);
  });
});
