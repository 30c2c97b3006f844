import { afterEach, describe, expect, it } from '@jest/globals';
import { controllerEnvironment, type Surroundings } from './child-environment.js';

const SURROUNDINGS = {
  ports: { controller: 1 },
  paths: { images: '/images' },
} as unknown as Surroundings;

describe('the environment of the controller', () => {
  const before = { ...process.env };
  afterEach(() => {
    process.env = { ...before };
  });

  it('has every limit of exports that the platform was started with', () => {
    const given = {
      AGENTPLANE_EXPORT_RETRIES: '3',
      AGENTPLANE_EXPORT_RETRY_DELAY_MS: '100',
      AGENTPLANE_EXPORT_RUN_TIMEOUT_MS: '60000',
      AGENTPLANE_EXPORT_TIMEOUT_MS: '120000',
      AGENTPLANE_EXPORT_CONCURRENT_RUNS: '4',
      AGENTPLANE_EXPORT_CONCURRENT_EXPORTS: '2',
      AGENTPLANE_EXPORT_ALL_RUNS: '5',
      AGENTPLANE_EXPORT_FILE_BYTES: '1048576',
      AGENTPLANE_EXPORT_FILE_ROWS: '1000',
    };
    Object.assign(process.env, given);
    expect(controllerEnvironment(SURROUNDINGS, '/kubeconfig')).toMatchObject(given);
  });
});
