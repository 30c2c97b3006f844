import { findTurn } from './decide-git-build.js';
import { gitRevision } from './testdata/git-revision.js';

const RULES = { beganAfter: new Date('2026-05-01T11:30:00Z'), isStuck: () => false };
const BEGUN = { build: { startedAt: '2026-05-01T11:50:00Z' } };

/** The names of those that begin next, in their order, when that many places are left. */
function order(all: readonly ReturnType<typeof gitRevision>[], rules = RULES): readonly string[] {
  return all
    .filter(({ status }) => status?.build === undefined)
    .map((one) => ({ name: one.metadata.name, ...findTurn(one, all, rules) }))
    .filter(({ isSuperseded }) => !isSuperseded)
    .toSorted((a, b) => a.ahead - b.ahead)
    .map(({ name, ahead }) => `${ahead} ${name}`);
}

describe('findTurn', () => {
  it('serves the oldest of a namespace first, behind what has begun', () => {
    const all = [
      gitRevision('b', { age: 2 }),
      gitRevision('a', { age: 1 }),
      gitRevision('c', { status: BEGUN }),
    ];
    expect(order(all)).toEqual(['1 a-00001', '2 b-00001']);
  });

  it('gives a younger build of another namespace the turn before the second of the first', () => {
    const many = Array.from({ length: 10 }, (_, at) => gitRevision(`a${at}`, { age: at }));
    const other = gitRevision('b', { namespace: 'ws-b', age: 50 });
    expect(order([...many, other]).slice(0, 3)).toEqual(['0 a0-00001', '1 b-00001', '2 a1-00001']);
    const running = gitRevision('a', { status: BEGUN });
    expect(order([...many, other, running]).slice(0, 2)).toEqual(['1 b-00001', '2 a0-00001']);
  });

  it('gives one namespace all places while no other waits', () => {
    const running = gitRevision('a', { status: BEGUN });
    expect(findTurn(gitRevision('b'), [running, gitRevision('b')], RULES).ahead).toBe(1);
  });

  it('counts no superseded revision, begun or waiting, in any namespace', () => {
    const superseded = [1, 2].flatMap((number) => [
      gitRevision('a', { number, status: number === 1 ? BEGUN : {} }),
      gitRevision('b', { number, namespace: 'ws-b', status: number === 1 ? BEGUN : {} }),
    ]);
    const newest = ['a', 'b'].map((name) =>
      gitRevision(name, {
        number: 3,
        namespace: name === 'a' ? 'ws-a' : 'ws-b',
        status: { repoCommitSha: undefined },
      }),
    );
    const own = gitRevision('c', { namespace: 'ws-c', age: 9 });
    const all = [...superseded, ...newest, own];
    expect(findTurn(own, all, RULES)).toEqual({ isSuperseded: false, ahead: 0 });
    expect(superseded.map((one) => findTurn(one, all, RULES).isSuperseded)).toEqual([true, true, true, true]);
  });

  it.each([
    ['a revision that is being deleted', { deleting: true, status: BEGUN }],
    ['a build that began too long ago to run', { status: { build: { startedAt: '2026-05-01T11:29:00Z' } } }],
    ['a built revision', { status: { ...BEGUN, image: 'local/a@sha256:1' } }],
    ['a revision whose commit is unknown', { status: { repoCommitSha: undefined } }],
    ['a revision from a registry', { source: 'external_image' as const }],
  ])('does not count %s', (_, how) => {
    const own = gitRevision('own', { age: 60 });
    expect(findTurn(own, [gitRevision('other', how), own], RULES).ahead).toBe(0);
  });

  it('passes over a build that cannot begin, until it has begun', () => {
    const rules = {
      ...RULES,
      isStuck: ({ metadata }: { metadata: { name: string } }) => /^x/.test(metadata.name),
    };
    const own = gitRevision('own', { age: 60 });
    expect(findTurn(own, [gitRevision('x'), own], rules).ahead).toBe(0);
    expect(findTurn(own, [gitRevision('x', { status: BEGUN }), own], rules).ahead).toBe(1);
  });
});
