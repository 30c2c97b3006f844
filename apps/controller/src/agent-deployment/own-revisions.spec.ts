import { describe, expect, it } from '@jest/globals';
import type { AgentDeployment, AgentRevision } from '#lib/resources';
import { ownRevisions } from './decide-revision.js';

describe('ownRevisions', () => {
  it('leaves out a revision of another deployment that was given this one as its owner', () => {
    const revision = (name: string, deploymentName: string): AgentRevision =>
      ({ metadata: { name }, spec: { deploymentName } }) as AgentRevision;
    const owned = [revision('ours-00001', 'ours'), revision('theirs-00009', 'theirs')];
    const deployment = { metadata: { name: 'ours' } } as AgentDeployment;
    expect(ownRevisions({ ownedBy: () => owned }, deployment)).toEqual(owned.slice(0, 1));
  });
});
