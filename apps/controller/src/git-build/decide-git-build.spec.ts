import { DISK_FULL, formatTerminationMessage, REGISTRY_UNAVAILABLE } from '#lib/lifecycle';
import type { Job, Pod } from '#lib/resources';
import { decideGitBuild, type GitBuildWorld } from './decide-git-build.js';
import { gitRevision } from './testdata/git-revision.js';

const NOW = new Date('2026-05-01T12:00:00Z');
const TIMEOUT_MS = 900_000;

const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();
const begun = (seconds: number) => gitRevision('a', { status: { build: { startedAt: ago(seconds) } } });

function job(type?: 'Complete' | 'Failed', seconds = 10): Job {
  const conditions = type === undefined ? [] : [{ type, status: 'True' }];
  const metadata = { name: 'a-00001-build', creationTimestamp: ago(seconds) };
  return { metadata, status: { conditions } } as unknown as Job;
}

/** Failed as long ago. */
function failedJob(seconds: number): Job {
  const conditions = [{ type: 'Failed', status: 'True', lastTransitionTime: ago(seconds) }];
  return { ...job(), status: { conditions } } as unknown as Job;
}

function pod(status: object = {}): Pod {
  return { metadata: { name: 'p' }, spec: { containers: [{ name: 'build' }] }, status };
}

const ended = (terminated: object) => pod({ containerStatuses: [{ name: 'build', state: { terminated } }] });

const full = ended({
  exitCode: 1,
  message: formatTerminationMessage({ reason: DISK_FULL, message: 'the disk' }),
});

const away = ended({
  exitCode: 1,
  message: formatTerminationMessage({ reason: REGISTRY_UNAVAILABLE, message: 'no answer of r' }),
});

function world(over: Partial<GitBuildWorld> = {}): GitBuildWorld {
  return {
    revision: gitRevision('a'),
    isSuperseded: false,
    job: undefined,
    pod: undefined,
    ahead: 0,
    places: 2,
    timeoutMs: TIMEOUT_MS,
    canTakeImages: true,
    now: NOW,
    ...over,
  };
}

const unresolved = gitRevision('a', { status: { repoCommitSha: undefined } });

const archived = {
  ...unresolved,
  spec: { ...unresolved.spec, archive: { path: 'p', graphConfigPath: 'langgraph.json' } },
};

describe('decideGitBuild', () => {
  it.each<[string, Partial<GitBuildWorld>, object]>([
    ['begins at once with an archive', { revision: archived }, { kind: 'begin' }],
    ['resolves the commit first', { revision: unresolved }, { kind: 'resolve' }],
    ['begins while a place is free', { ahead: 1 }, { kind: 'begin' }],
    ['queues behind as many builds as there are places', { ahead: 2 }, { kind: 'queue' }],
    ['makes the Job of an intent that has none', { revision: begun(5) }, { kind: 'ensure-job' }],
    [
      'watches a Job whose pod is not made yet',
      { revision: begun(5), job: job() },
      { kind: 'watch', reason: 'AwaitingBuild' },
    ],
    [
      'collects what a pod left',
      { revision: begun(5), job: job('Complete'), pod: pod() },
      { kind: 'collect', pod: pod() },
    ],
    [
      'collects what a pod left before the end of its time, after it was offline for a while',
      { revision: begun(1_700), job: job('Complete', 1_700), pod: pod() },
      { kind: 'collect', pod: pod() },
    ],
    [
      'waits a moment for room on the disk',
      { revision: begun(50), job: failedJob(29), pod: full },
      { kind: 'watch', message: 'waiting for room on the disk: the disk' },
    ],
    [
      'puts a build back that found the disk full',
      { revision: begun(50), job: failedJob(31), pod: full },
      { kind: 'put-back', message: 'waiting for room on the disk: the disk' },
    ],
    [
      'puts a build back that found the registry unavailable',
      { revision: begun(50), job: failedJob(31), pod: away },
      { kind: 'put-back', message: 'waiting for the registry: no answer of r' },
    ],
    [
      'watches a container that pushes',
      {
        revision: begun(5),
        job: job(),
        pod: pod({ containerStatuses: [{ name: 'push', state: { running: {} } }] }),
      },
      { kind: 'watch', message: expect.stringMatching(/^pushing the image/) },
    ],
    [
      'begins nothing before the Job of a build that was put back is removed',
      { job: failedJob(31) },
      { kind: 'put-back' },
    ],
    [
      'skips a superseded revision, begun or not',
      { revision: begun(5), isSuperseded: true },
      { kind: 'skip' },
    ],
    [
      'finishes a built revision, superseded or not',
      { revision: gitRevision('a', { status: { image: 'i' } }), isSuperseded: true },
      { kind: 'finished' },
    ],
  ])('%s', (_, over, expected) => {
    expect(decideGitBuild(world(over))).toMatchObject(expected);
  });

  it.each<[string, Partial<GitBuildWorld>, string, RegExp]>([
    [
      'a commit that was not looked for, without a place for images',
      { revision: unresolved, canTakeImages: false },
      'BuildRefused',
      /needs?.* a registry, and this controller has neither/,
    ],
    ['a Job that runs too long', { revision: begun(901), job: job() }, 'BuildTimedOut', /ended after 900 s/],
    [
      'an intent whose Job cannot be made',
      { revision: begun(1_801) },
      'BuildTimedOut',
      /not taken within 1800 s/,
    ],
    [
      'a result that cannot be taken',
      { revision: begun(1_801), job: job('Complete'), pod: pod() },
      'BuildTimedOut',
      /not taken within 1800 s/,
    ],
    [
      'a Job that gets no pod',
      { revision: begun(130), job: job(undefined, 121) },
      'BuildFailed',
      /has no pod 120 s after/,
    ],
    [
      'a build for which the disk had no room for an hour',
      { revision: begun(50), job: failedJob(31), pod: full, now: new Date(NOW.getTime() + 1) },
      'BuildFailed',
      /^the disk$/,
    ],
    ['a pod that was removed', { revision: begun(5), job: job('Failed') }, 'BuildFailed', /was removed/],
    [
      'a command that failed',
      { revision: begun(5), job: job('Failed'), pod: ended({ exitCode: 3 }) },
      'BuildFailed',
      /exit code 3/,
    ],
  ])('fails %s', (_, over, reason, message) => {
    expect(decideGitBuild(world(over))).toEqual({
      kind: 'fail',
      reason,
      message: expect.stringMatching(message),
    });
  });
});
