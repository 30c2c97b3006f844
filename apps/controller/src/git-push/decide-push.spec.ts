import type { AgentDeployment } from '#lib/resources';
import { gitRevision } from '../git-build/testdata/git-revision.js';
import { decidePush, followedRef, mayLook, type PushWorld } from './push-reconciler.js';

const [OLD, NEW] = ['a'.repeat(40), 'b'.repeat(40)];
const at = (repoCommitSha: string | undefined, status: object = {}) =>
  gitRevision('d', { status: { repoCommitSha, ...status } });
const seen = (commit: string, ref = 'main') => ({ ref, commit, lookedAt: '2026-05-01T11:00:00Z' });
/** Revision 2, made of the branch while it was followed. */
const made = (repoCommitSha: string | undefined, over: object = {}) =>
  gitRevision('d', { number: 2, followed: true, status: { repoCommitSha }, ...over });
const failed = { conditions: [{ type: 'Built', status: 'False', reason: 'RefNotFound', message: '' }] };
/** Revision 2, which found no commit of the branch. */
const lost = made(undefined, { status: { repoCommitSha: undefined, ...failed } });

function world(over: Partial<PushWorld> = {}): PushWorld {
  const now = new Date('2026-05-01T12:00:00Z');
  return { push: seen(OLD), newest: at(OLD), isRevisionAsked: false, now, ...over };
}

describe('decidePush', () => {
  it.each<[string, Partial<PushWorld>, string, string]>([
    ['builds another commit than was seen', {}, NEW, 'build'],
    ['builds nothing while the branch stays', {}, OLD, 'same'],
    [
      'builds nothing after the newest revision was made of an earlier commit',
      { newest: at(NEW) },
      OLD,
      'same',
    ],
    ['builds nothing that the newest revision is made of already', { newest: at(NEW) }, NEW, 'same'],
    ['notes a branch that was not seen yet, and builds nothing', { push: undefined }, NEW, 'same'],
    ['takes the newest revision for the first look', { push: undefined }, OLD, 'same'],
    ['forgets what was seen of another branch', { push: seen(OLD, 'other') }, NEW, 'same'],
    ['waits for the commit of the newest revision', { newest: at(undefined) }, NEW, 'wait'],
    [
      'waits for the first commit of the newest revision',
      { push: undefined, newest: at(undefined) },
      NEW,
      'wait',
    ],
    ['waits for a revision that is asked for', { isRevisionAsked: true }, NEW, 'wait'],
    ['waits for the first revision', { newest: undefined }, NEW, 'wait'],
    [
      'builds a branch that did not exist for the newest revision',
      { push: undefined, newest: at(undefined, failed) },
      NEW,
      'build',
    ],
    [
      'builds a push after the first revision, before any look',
      { push: undefined, newest: made(OLD) },
      NEW,
      'build',
    ],
    [
      'builds a push after a revision of another branch than was seen',
      { push: { ...seen(OLD, 'other'), revision: 1 }, newest: made(OLD) },
      NEW,
      'build',
    ],
    [
      'builds a branch that went back to what was seen before the newest revision',
      { push: { ...seen(OLD), revision: 1 }, newest: made(NEW) },
      OLD,
      'build',
    ],
    [
      'builds nothing while the branch stays at a look that is later than the newest revision',
      { push: { ...seen(NEW), revision: 2 }, newest: made(OLD) },
      NEW,
      'same',
    ],
    [
      'notes a branch whose newest revision repeats another',
      { push: undefined, newest: made(OLD, { redeployOf: 'd-00001' }) },
      NEW,
      'same',
    ],
    [
      'notes a branch that is followed again, with no revision since',
      { push: { revision: 2 }, newest: made(OLD) },
      NEW,
      'same',
    ],
    [
      'builds a push after a revision that was made since the branch is followed again',
      { push: { revision: 1 }, newest: made(OLD) },
      NEW,
      'build',
    ],
    [
      'builds what it noted once more where its revision failed before it found the commit',
      { push: { ...seen(NEW), revision: 1 }, newest: lost },
      NEW,
      'build',
    ],
    [
      'builds it not before ten minutes have passed',
      { push: { ...seen(NEW), revision: 1 }, newest: lost, now: new Date('2026-05-01T11:09:59Z') },
      NEW,
      'later',
    ],
    [
      'builds it once for each such revision',
      { push: { ...seen(NEW), revision: 2 }, newest: lost },
      NEW,
      'same',
    ],
    [
      'builds a later push at once',
      { push: { ...seen(OLD), revision: 1 }, newest: lost, now: new Date('2026-05-01T11:00:01Z') },
      NEW,
      'build',
    ],
  ])('%s', (_, over, found, expected) => {
    expect(decidePush(world(over), 'main', found)).toBe(expected);
    expect(mayLook(world(over))).toBe(expected !== 'wait');
  });
});

describe('followedRef', () => {
  const deployment = (over: object = {}, config: object = {}, revision: object = {}) =>
    ({
      spec: {
        source: 'git_host',
        ...over,
        sourceConfig: { buildOnPush: true, ...config },
        sourceRevisionConfig: revision,
      },
    }) as unknown as AgentDeployment;

  it.each<[string, AgentDeployment, string | undefined]>([
    ['follows the default branch', deployment(), 'HEAD'],
    ['follows a branch by its name', deployment({}, {}, { repoRef: 'main' }), 'main'],
    ['follows no tag', deployment({}, {}, { repoRef: 'refs/tags/v1' }), undefined],
    ['follows nothing for a deployment that is suspended', deployment({ suspend: true }), undefined],
    ['follows nothing without buildOnPush', deployment({}, { buildOnPush: false }), undefined],
    ['follows nothing for an image', deployment({ source: 'internal_image' }), undefined],
  ])('%s', (_, given, expected) => {
    expect(followedRef(given)).toBe(expected);
  });
});
