import type { AgentDeployment } from '#lib/resources';
import { gitRevision } from '../git-build/testdata/git-revision.js';
import { decidePush, followedRef, mayLook, type PushWorld } from './decide-push.js';

const [OLD, NEW] = ['a'.repeat(40), 'b'.repeat(40)];
const at = (repoCommitSha: string | undefined, status: object = {}) =>
  gitRevision('d', { status: { repoCommitSha, ...status } });
const seen = (commit: string, ref = 'main') => ({ ref, commit, lookedAt: '2026-05-01T11:00:00Z' });
const failed = { conditions: [{ type: 'Built', status: 'False', reason: 'RefNotFound', message: '' }] };

function world(over: Partial<PushWorld> = {}): PushWorld {
  return { push: seen(OLD), newest: at(OLD), isRevisionAsked: false, ...over };
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
  ])('%s', (_, over, found, expected) => {
    expect(decidePush(world(over), 'main', found)).toBe(expected);
    expect(mayLook(world(over))).toBe(expected !== 'wait');
  });
});

describe('followedRef', () => {
  const deployment = (over: object = {}, config: object = {}, revision: object = {}) =>
    ({
      spec: {
        ...{ source: 'git_host', ...over },
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
