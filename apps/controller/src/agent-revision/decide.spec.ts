import type { AgentRevision } from '#lib/resources';
import { type BuildWorld, decideBuild } from './build-reconciler.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const OLD = `local/sample-agent@sha256:${'b'.repeat(64)}`;

function revision(
  spec: Partial<AgentRevision['spec']> = {},
  status: AgentRevision['status'] = {
    conditions: [
      { type: 'VariablesReady', status: 'True', reason: 'R', message: '', lastTransitionTime: '' },
    ],
  },
): AgentRevision {
  return {
    metadata: { name: 'a-2' },
    spec: { source: 'internal_image', imageUri: 'sample-agent', ...spec },
    status,
  } as AgentRevision;
}

describe('decideBuild', () => {
  it.each<[string, Partial<BuildWorld>, object]>([
    ['waits for the variables', { revision: revision({}, {}) }, { kind: 'nothing' }],
    [
      'never resolves an image again',
      { revision: revision({}, { ...revision().status, image: OLD }) },
      { kind: 'nothing' },
    ],
    [
      'pins an image of the store by its digest',
      {},
      { kind: 'resolve', image: `local/sample-agent@${DIGEST}` },
    ],
    [
      'runs an image of a registry as it was asked for',
      { revision: revision({ source: 'external_image', imageUri: 'example.org/a:1' }) },
      { kind: 'resolve', image: 'example.org/a:1' },
    ],
    [
      'pins an image of the store that is named as one of a registry',
      { revision: revision({ source: 'external_image', imageUri: 'local/sample-agent' }) },
      { kind: 'resolve', image: `local/sample-agent@${DIGEST}` },
    ],
    [
      'leaves the images of its own store out of another cluster',
      {
        revision: revision({
          source: 'external_image',
          imageUri: 'local/sample-agent',
          listenerName: 'far',
          placeNamespace: 'agents',
        }),
      },
      { kind: 'resolve', image: 'local/sample-agent' },
    ],
    [
      'repeats the digest of the revision that it repeats',
      { revision: revision({ redeployOf: 'a-1' }), repeated: revision({}, { image: OLD }) },
      { kind: 'resolve', image: OLD },
    ],
    [
      'repeats an image of a registry by the digest that its pods reported',
      {
        revision: revision({ redeployOf: 'a-1', source: 'external_image', imageUri: 'example.org/a:1' }),
        repeated: revision(
          { source: 'external_image' },
          { image: 'example.org/a:1', pinnedImage: `example.org/a@${DIGEST}` },
        ),
      },
      { kind: 'resolve', image: `example.org/a@${DIGEST}` },
    ],
    [
      'runs what was asked for where the listener of another cluster could have named another image',
      {
        revision: revision({ redeployOf: 'a-1', source: 'external_image', imageUri: 'example.org/a:1' }),
        repeated: revision({ listenerName: 'far', placeNamespace: 'agents' }, { image: 'evil.example/b' }),
      },
      { kind: 'resolve', image: 'example.org/a:1' },
    ],
    [
      'repeats an image in the cluster that ran it',
      {
        revision: revision({ redeployOf: 'a-1', listenerName: 'far', placeNamespace: 'agents' }),
        repeated: revision({ listenerName: 'far', placeNamespace: 'agents' }, { image: OLD }),
      },
      { kind: 'resolve', image: OLD },
    ],
    [
      'refuses to repeat what another cluster says of a build',
      {
        revision: revision({ redeployOf: 'a-1', source: 'git_host' }),
        repeated: revision({ listenerName: 'far', placeNamespace: 'agents' }, { repoCommitSha: 'f' }),
      },
      { kind: 'refuse', reason: 'RevisionMissing' },
    ],
    [
      'refuses a repeat of a revision that does not exist',
      { revision: revision({ redeployOf: 'a-1' }) },
      { kind: 'refuse', reason: 'RevisionMissing' },
    ],
    ['builds from git', { revision: revision({ source: 'git_host' }) }, { kind: 'build' }],
  ])('%s', (_, more, expected) => {
    const world: BuildWorld = {
      revision: revision(),
      repeated: undefined,
      images: new Map([['sample-agent', DIGEST]]),
      ...more,
    };
    expect(decideBuild(world)).toEqual(expect.objectContaining(expected));
  });
});
