import { type Deployment, LABEL, type Pod } from '#lib/resources';
import { isWorkloadReady, Wakefulness } from './ready-spans.js';
import { revision } from './testdata/sample-rollout.js';

const at = (seconds: number): Date => new Date(seconds * 1000);

describe('Wakefulness', () => {
  it.each<[string, readonly number[], number]>([
    ['holds nothing back at first: a restart must not extend deadlines', [1000], 0],
    ['holds nothing back while passes come', [1000, 1022, 1044, 1100], 0],
    ['begins anew after a long gap', [1000, 1020, 4000], 4000],
    ['begins anew when the clock is set back', [4000, 4020, 420, 440], 420],
    ['goes on from there', [1000, 1020, 4000, 4020, 4040], 4000],
  ])('%s', (_, looks, since) => {
    const wakefulness = new Wakefulness(30_000);
    expect(looks.map((seconds) => wakefulness.look(at(seconds), false)).at(-1)?.awakeSinceMs).toBe(
      since * 1000,
    );
  });

  it('counts no time in which the API server could not be followed', () => {
    const wakefulness = new Wakefulness(30_000);
    wakefulness.look(at(1000), false);
    wakefulness.look(at(1020), true);
    expect(wakefulness.look(at(1040), true).awakeSinceMs).toBe(1_040_000);
    expect(wakefulness.look(at(1060), false).awakeSinceMs).toBe(1_040_000);
  });

  it('grants a grace after the first look alone', () => {
    const wakefulness = new Wakefulness(30_000);
    expect(wakefulness.look(at(1000), false).graceUntilMs).toBe(1_030_000);
    expect(wakefulness.look(at(1020), false).graceUntilMs).toBe(1_030_000);
  });
});

describe('isWorkloadReady', () => {
  const counts = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 0 };
  const pod = (component: string, status: 'True' | 'False'): Pod => ({
    metadata: { name: 'a', labels: { [LABEL.component]: component } },
    spec: { containers: [] },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const ready = pod('agent-api', 'True');

  it.each<[string, Partial<typeof counts>, readonly Pod[], boolean]>([
    ['believes pods before their Deployment has counted them', {}, [ready], true],
    ['believes the count alone', { availableReplicas: 1 }, [], true],
    ['believes no pod that is not ready', {}, [pod('agent-api', 'False')], false],
    ['takes pods of the queue for no others', {}, [pod('agent-queue', 'True')], false],
    ['believes no pod while one of a former template is left', { replicas: 2 }, [ready], false],
    ['believes no pod before its template was seen', { observedGeneration: 1 }, [ready], false],
  ])('%s', (_what, given, pods, expected) => {
    const one = revision({ number: 1 });
    const workload = { ...one.workload, status: { ...counts, ...given } } as Deployment;
    expect(isWorkloadReady({ ...one, workload, pods })).toBe(expected);
  });
});
