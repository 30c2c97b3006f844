import { describe, expect, it } from '@jest/globals';
import { type Deployment, formerRevision, type Revision } from './revisions.js';

const DEPLOYMENT = { name: 'sample', active_revision_id: 'c' } as Deployment;

function revision(id: string, status: string, archived = false): Revision {
  return { id, status, archived } as Revision;
}

describe('formerRevision', () => {
  it('takes the newest before the present one that served', () => {
    const revisions = [
      revision('d', 'DEPLOY_FAILED'),
      revision('c', 'DEPLOYED'),
      revision('b', 'DEPLOY_FAILED'),
      revision('a', 'DEPLOYED'),
    ];
    expect(formerRevision(DEPLOYMENT, revisions).id).toBe('a');
  });

  it('takes none of the archive, which has no variables', () => {
    const revisions = [revision('c', 'DEPLOYED'), revision('a', 'DEPLOYED', true)];
    expect(() => formerRevision(DEPLOYMENT, revisions)).toThrow(
      'deployment sample has no earlier revision that served and is not archived',
    );
  });
});
