import { describe, expect, it } from '@jest/globals';
import { type Deployment, findRevision, formerRevision, type Revision } from './revisions.js';

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

describe('findRevision', () => {
  const ids = ['0002aaaa-0000-4000-8000-000000000002', '2bbbbbbb-0000-4000-8000-000000000001'] as const;
  const revisions = ids.map(
    (id, at) => ({ id, name: `sample-0000${2 - at}`, status: 'DEPLOYED' }) as Revision,
  );
  const pending = { id: '2ccccccc-0000-4000-8000-000000000003', name: null, status: 'CREATING' } as Revision;

  it.each(['sample-00002', '2', '00002', ids[0], '0002a', '0002AAAA'])('finds one by %s', (word) => {
    expect(findRevision('sample', [pending, ...revisions], word).id).toBe(ids[0]);
  });

  it.each(['3', '12', '2b', 'ample-00002', '-00002', 'none'])('finds none by %s', (word) => {
    expect(() => findRevision('sample', [pending, ...revisions], word)).toThrow(`has no revision ${word}`);
  });

  it('asks for more of a word that fits several', () => {
    expect(() => findRevision('sample', revisions, '0002')).not.toThrow();
    const others = [...revisions, { ...pending, id: '0002dddd-0000-4000-8000-000000000004' }];
    expect(() => findRevision('sample', others, '0002')).toThrow('2 revisions of sample begin with 0002');
  });
});
