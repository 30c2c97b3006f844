import { describe, expect, it } from '@jest/globals';
import type { AgentRevision, Deployment, Pod } from '#lib/resources';
import { findPinnedImage, pinnedRevision } from './pinned-image.js';

const DIGEST = `sha256:${'ab'.repeat(32)}`;
const IMAGE = 'registry.example:5000/team/agent:1';
const PINNED = `registry.example:5000/team/agent@${DIGEST}`;

interface Case {
  readonly image?: string;
  readonly imageID?: string;
  readonly ready?: boolean;
  readonly source?: string;
  readonly runs?: string;
  readonly known?: string;
  readonly isLent?: boolean;
}

function pinnedOf({ image = IMAGE, imageID = PINNED, ready = true, source, runs, known, isLent }: Case) {
  const revision = {
    spec: { source: source ?? 'external_image' },
    status: { image, ...(known === undefined ? {} : { pinnedImage: known }) },
  } as unknown as AgentRevision;
  const pod = {
    spec: {
      containers: [
        { name: 'sidecar', image },
        { name: 'agent', image: runs ?? image },
      ],
    },
    status: {
      containerStatuses: [
        { name: 'sidecar', ready: true, imageID: `other@${DIGEST}` },
        { name: 'agent', ready, imageID },
      ],
    },
  } as unknown as Pod;
  const origin = isLent ? ({ ...revision } as AgentRevision) : revision;
  return findPinnedImage({ revision, origin, pods: [pod] });
}

describe('findPinnedImage', () => {
  it.each<[string, Case, string]>([
    ['an image with a port in its name', {}, PINNED],
    ['one without a tag', { image: 'registry.example:5000/team/agent' }, PINNED],
    ['a runtime that says how it pulled', { imageID: `docker-pullable://${PINNED}` }, PINNED],
    [
      'a short name, as it was written',
      { image: 'agent:2', imageID: `docker.io/library/agent@${DIGEST}` },
      `agent@${DIGEST}`,
    ],
    [
      'a short name of a user',
      { image: 'team/agent', imageID: `docker.io/team/agent@${DIGEST}` },
      `team/agent@${DIGEST}`,
    ],
    ['what was reported before, whatever pods report now', { known: 'r/a@d', imageID: PINNED }, 'r/a@d'],
  ])('pins %s', (_what, given, pinned) => {
    expect(pinnedOf(given)).toBe(pinned);
  });

  it.each<[string, Case]>([
    ['an image that has a digest', { image: PINNED }],
    ['an image of the platform', { source: 'internal_image' }],
    ['a pod that is not ready', { ready: false }],
    ['a pod that runs another image', { runs: 'registry.example:5000/team/agent:2' }],
    ['an image that was loaded by hand', { imageID: DIGEST }],
    ['a node that reports none', { imageID: '' }],
    ['a digest of another repository', { imageID: `mirror.example/team/agent@${DIGEST}` }],
    ['a digest that is none', { imageID: 'registry.example:5000/team/agent@sha256:ab' }],
    ['pods of another revision', { isLent: true }],
  ])('leaves alone %s', (_what, given) => {
    expect(pinnedOf(given)).toBeUndefined();
  });
});

describe('pinnedRevision', () => {
  const workload = (replicas: number, image: string) =>
    ({
      spec: { replicas, template: { spec: { containers: [{ name: 'agent', image }] } } },
    }) as unknown as Deployment;
  const revision = (pinnedImage?: string) =>
    ({ status: { image: IMAGE, ...(pinnedImage === undefined ? {} : { pinnedImage }) } }) as AgentRevision;
  const imageOf = (pinned: string | undefined, of: Deployment | undefined) =>
    pinnedRevision(revision(pinned), { workload: of }).status?.image;

  it.each<[string, string | undefined, Deployment | undefined, string]>([
    ['keeps the tag until a digest is known', undefined, workload(0, IMAGE), IMAGE],
    ['keeps the tag while pods run by it', PINNED, workload(2, IMAGE), IMAGE],
    ['takes the digest while there are no pods', PINNED, workload(0, IMAGE), PINNED],
    ['takes the digest for a new Deployment', PINNED, undefined, PINNED],
    ['keeps the digest from then on', PINNED, workload(2, PINNED), PINNED],
    ['restores an image that another writer changed', PINNED, workload(2, 'other/agent'), IMAGE],
  ])('%s', (_what, pinned, of, image) => {
    expect(imageOf(pinned, of)).toBe(image);
  });
});
