import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEPLOYMENT_TYPES, wantedResourceSpec } from './deployment-types.js';

const PAGE = join(import.meta.dirname, '..', '..', '..', 'docs', 'design', 'resource-spec.md');

describe('sizes of deployments from git', () => {
  it('has a row of each size in docs/design/resource-spec.md', () => {
    const page = readFileSync(PAGE, 'utf8');
    for (const [type, { minScale, cpu, memoryMb, memoryLimitMb }] of Object.entries(DEPLOYMENT_TYPES))
      expect(page).toContain(`| \`${type}\` | ${minScale} | ${cpu} | ${memoryMb} | ${memoryLimitMb} |`);
  });

  it('gives a size to deployments from git alone', () => {
    const sourceConfig = { deploymentType: 'dev' as const, resourceSpec: { cpu: 2 } };
    expect(wantedResourceSpec({ source: 'git_host', sourceConfig })).toBe(DEPLOYMENT_TYPES.dev);
    expect(wantedResourceSpec({ source: 'internal_image', sourceConfig })).toEqual({ cpu: 2 });
  });
});
