import type { AgentDeployment, AgentRevision, Deployment, Pod } from '#lib/resources';
import type { Hub } from '../hub/hub-cluster.js';
import type { Place } from '../place/place-cluster.js';
import { observeRollout } from './observe.js';
import { SECONDS } from './testdata/sample-rollout.js';

describe('observeRollout', () => {
  const CREATED = { creationTimestamp: SECONDS(10) };
  const owned = (uid: string) => ({ ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'a', uid }] });
  const pod = (name: string, metadata: object): Pod => ({
    metadata: { name, ...CREATED, ...metadata },
    spec: { containers: [] },
  });

  type Readers = Parameters<typeof observeRollout>;
  function readers(changes: { pods?: readonly Pod[]; owner?: string; listeners?: string[] } = {}): {
    hub: Readers[0];
    place: Readers[1];
  } {
    const { pods = [], owner = 'present', listeners = ['default'] } = changes;
    const revisions = listeners.map((listenerName, at) => ({
      metadata: { name: `a-0000${at + 1}`, uid: `${at + 1}`, ...CREATED, ...owned(owner) },
      spec: { number: at + 1, listenerName },
    }));
    const hub: Pick<Hub, 'findDeployment' | 'revisionsNamed'> = {
      findDeployment: () =>
        ({
          metadata: { name: 'a', uid: 'present' },
          spec: { sourceConfig: { resourceSpec: { minScale: 3 } } },
        }) as AgentDeployment,
      revisionsNamed: () => revisions as unknown as AgentRevision[],
    };
    const place: Pick<Place, 'findWorkload' | 'findQueue' | 'podsOf' | 'findService'> = {
      findWorkload: ({ metadata: { name } }) => ({ metadata: { name } }) as unknown as Deployment,
      findQueue: () => undefined,
      podsOf: () => pods,
      findService: () => ({ metadata: { name: 'a' }, spec: {} }),
    };
    return { hub, place };
  }
  const observe = ({ hub, place }: ReturnType<typeof readers>) =>
    observeRollout(hub, place, { namespace: 'ws', name: 'a' }, 'default');

  it('sees what belongs to the deployment and its revisions', () => {
    const seen = observe(readers({ pods: [pod('p', {})] }));
    expect([seen?.service?.metadata.name, seen?.revisions[0]?.workload?.metadata.name]).toEqual([
      'a',
      'a-00001',
    ]);
    expect(seen?.revisions[0]?.pods).toHaveLength(1);
  });

  it('takes the number of pods from the deployment', () => {
    const [one] = observe(readers())?.revisions ?? [];
    expect([one?.revision, one?.origin].map((seen) => seen?.spec.resourceSpec)).toEqual([
      { minScale: 3 },
      { minScale: 3 },
    ]);
  });

  it('leaves revisions of a former deployment of the name alone', () => {
    expect(observe(readers({ owner: 'former' }))?.revisions).toEqual([]);
  });

  it('counts no pods that are being deleted or older than the revision', () => {
    const deleted = pod('deleted', { deletionTimestamp: SECONDS(1) });
    const older = pod('older', { creationTimestamp: SECONDS(11) });
    expect(observe(readers({ pods: [deleted, older] }))?.revisions[0]?.pods).toEqual([]);
  });

  it('keeps revisions of other listeners apart', () => {
    const seen = observe(readers({ listeners: ['default', 'other'] }));
    expect(seen?.revisions.map((one) => one.revision.spec.number)).toEqual([1]);
    expect(seen?.elsewhere.map(({ spec }) => spec.number)).toEqual([2]);
  });
});
