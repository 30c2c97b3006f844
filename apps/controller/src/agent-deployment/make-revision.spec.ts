import { describe, expect, it } from '@jest/globals';
import { buildRevision, type MakeRevision } from './make-revision.js';
import { deployment } from './testdata/sample-world.js';

const DECISION: MakeRevision = {
  kind: 'make-revision',
  revision: { number: 1, id: '00000000-0000-4000-8000-000000000001' },
  tenantId: 't',
  listenerName: 'default',
  placeNamespace: undefined,
  hash: 'h',
};
const PLACEMENT = { nodeSelector: { pool: 'agents' }, priorityClassName: 'low' };

describe('buildRevision', () => {
  it('places pods by the resource spec, and by the cluster where that says nothing', () => {
    const sourceConfig = { resourceSpec: { cpu: 1, priorityClassName: 'high' } };
    const asked = deployment({ sourceConfig });
    expect(buildRevision(asked, DECISION, PLACEMENT).spec.resourceSpec).toEqual({
      cpu: 1,
      nodeSelector: { pool: 'agents' },
      priorityClassName: 'high',
    });
    expect(buildRevision(asked, DECISION, {}).spec.resourceSpec).toEqual(sourceConfig.resourceSpec);
    expect(buildRevision(deployment(), DECISION, {}).spec).not.toHaveProperty('resourceSpec');
  });

  it.each([
    ['has the limit of the cluster without one', {}, { memoryLimitMb: 2048 }],
    ['keeps its own limit', { memoryLimitMb: 4096 }, { memoryLimitMb: 4096 }],
    ['keeps twice its request', { memoryMb: 3000 }, { memoryMb: 3000 }],
  ])('%s of memory', (_, resourceSpec, expected) => {
    const asked = deployment({ sourceConfig: { resourceSpec } });
    const { spec } = buildRevision(asked, DECISION, { memoryLimitMb: 2048 });
    expect(spec.resourceSpec).toEqual(expected);
  });

  it('builds from the archive that the deployment names, again and again', () => {
    const path = 'deployments/a/archives/b';
    const asked = deployment({
      source: 'internal_source',
      sourceConfig: { installCommand: 'npm ci' },
      sourceRevisionConfig: { sourceTarballPath: path },
    });
    const first = buildRevision(asked, DECISION, {});
    const archive = { path, graphConfigPath: 'langgraph.json', installCommand: 'npm ci' };
    expect(first.spec).toMatchObject({ source: 'internal_source', archive });
    const again = { ...DECISION, revision: { ...DECISION.revision, number: 2, repeats: first } };
    const later = deployment({ ...asked.spec, sourceRevisionConfig: { sourceTarballPath: 'other' } });
    expect(buildRevision(later, again, {}).spec.archive).toEqual(archive);
  });

  it('keeps the place of the revision that it repeats', () => {
    const repeats = buildRevision(deployment(), DECISION, { runtimeClassName: 'gvisor' });
    const again = { ...DECISION, revision: { ...DECISION.revision, number: 2, repeats } };
    expect(buildRevision(deployment(), again, PLACEMENT).spec.resourceSpec).toEqual({
      runtimeClassName: 'gvisor',
    });
  });
});
