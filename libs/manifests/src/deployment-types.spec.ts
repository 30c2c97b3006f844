import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { podResources } from './pod-resources.js';
import { DEPLOYMENT_TYPES, wantedResourceSpec } from './database-server.js';

const PAGE = join(import.meta.dirname, '..', '..', '..', 'docs', 'design', 'resource-spec.md');

describe('sizes of deployments from git', () => {
  it('has a row of each size in docs/design/resource-spec.md', () => {
    const page = readFileSync(PAGE, 'utf8');
    for (const [type, spec] of Object.entries(DEPLOYMENT_TYPES)) {
      const { minScale, cpu = 0, cpuLimit = 2 * cpu, memoryMb, memoryLimitMb } = spec;
      expect(page).toContain(
        `| \`${type}\` | ${minScale} | ${cpu} | ${cpuLimit} | ${memoryMb} | ${memoryLimitMb} |`,
      );
    }
  });

  it.each(Object.entries(DEPLOYMENT_TYPES))('leaves a whole core to starts of %s', (_type, spec) => {
    expect(parseInt(podResources(spec).limits?.['cpu'] ?? '', 10)).toBeGreaterThanOrEqual(1000);
  });

  it('gives a size to deployments from git alone', () => {
    const size = { deploymentType: 'dev' as const };
    const own = { ...size, resourceSpec: { cpu: 2 } };
    expect(wantedResourceSpec({ source: 'git_host', sourceConfig: size })).toBe(DEPLOYMENT_TYPES.dev);
    expect(wantedResourceSpec({ source: 'git_host', sourceConfig: own })).toEqual({ cpu: 2 });
    expect(wantedResourceSpec({ source: 'internal_image', sourceConfig: size })).toBeUndefined();
  });
});
