import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isReservedEnvironment } from './reserved-environment.js';
import { RESOURCES } from './generated/resource-table.js';

describe('the generated types', () => {
  it('agrees with the schemas of crds/', () => {
    const script = join(import.meta.dirname, '../../../scripts/generate.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check', '--types'], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
  it('states of each kind whether it has a namespace', () => {
    expect(Object.keys(RESOURCES)).toHaveLength(7);
    expect(RESOURCES.Workspace.namespaced).toBe(false);
    expect(RESOURCES.BulkExportRun.plural).toBe('bulkexportruns');
  });
});

describe('isReservedEnvironment', () => {
  it.each([
    ['PORT', true],
    ['POSTGRES_URI', true],
    ['LANGSMITH_API_KEY', true],
    ['AGENTPLANE_ANYTHING', true],
    ['AGENTPLANE_PUBLIC_URL', false],
    ['AGENTPLANE_TRUST_FORWARDED', false],
    ['AGENTPLANE_SERVICE_URL', true],
    ['OPENAI_API_KEY', false],
    ['REDIS_URI', false],
    ['MY_PORT', false],
  ])('answers for the variable %s with %p', (name, expected) => {
    expect(isReservedEnvironment(name)).toBe(expected);
  });
});
