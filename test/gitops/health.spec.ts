import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { REASON, RESOURCES, type ShownState } from '#lib/resources';
import { itemOf, SITUATIONS } from '../../apps/tui/src/testdata/situations.js';
import { ArgoHealth, type Checked, FluxHealth } from './health-checks.js';

const argo = new ArgoHealth();
const flux = new FluxHealth();
const VIEWS = [...new Set(SITUATIONS.map(([, view]) => view))];
type View = (typeof VIEWS)[number];

/** What our own state means to each tool. */
function expected({ word, tone }: ShownState): { argo: string; flux: string } {
  if (tone === 'bad') return { argo: 'Degraded', flux: 'Failed' };
  if (tone === 'busy') return { argo: 'Progressing', flux: 'InProgress' };
  return { argo: word === REASON.suspended ? 'Suspended' : 'Healthy', flux: 'Current' };
}

const kindOf = ({ source }: View): string => (source.kind === 'kube' ? source.ref.kind : '');

function healthOf(view: View, object: Checked): { argo: string; flux: string } {
  return { argo: argo.of(kindOf(view), object), flux: flux.of(kindOf(view), object) };
}

describe('the health check', () => {
  beforeAll(() => argo.open());
  afterAll(() => argo.close());

  it.each(SITUATIONS.map(([name, ...row]) => [name, row] as const))(
    'agrees with the dashboard about %s',
    (_name, [view, conditions, , , more = {}]) => {
      const item = itemOf(conditions, more);
      expect(healthOf(view, item)).toEqual(expected(view.state(item)));
    },
  );

  it('agrees with the dashboard for every reason under every status', () => {
    const mayFail = new Set(['AgentRevision', 'BulkExport', 'BulkExportRun']);
    let compared = 0;
    for (const view of VIEWS)
      for (const reason of Object.values(REASON))
        for (const status of ['True', 'False', 'Unknown', 'failed'] as const) {
          const isFailed = status === 'failed';
          // a revision is not cancelled
          const isWritten =
            mayFail.has(kindOf(view)) && !(view.name === 'revisions' && reason === 'Cancelled');
          if (isFailed && !isWritten) continue;
          const item = isFailed
            ? itemOf({ Failed: ['True', reason], Ready: ['False', reason] }, {})
            : itemOf({ Ready: [status, reason] }, {});
          expect([view.name, reason, status, healthOf(view, item)]).toEqual([
            view.name,
            reason,
            status,
            expected(view.state(item)),
          ]);
          compared++;
        }
    expect(compared).toBeGreaterThan(2_000);
  });

  it('agrees with the dashboard about an export whose cancellation was requested', () => {
    for (const [, view, conditions] of SITUATIONS.filter(([, view]) => kindOf(view) === 'BulkExport')) {
      const item = itemOf(conditions, { spec: { cancel: true } });
      expect(healthOf(view, item)).toEqual(expected(view.state(item)));
    }
  });

  it('waits for the controller to look at a new spec', () => {
    const waiting = { argo: 'Progressing', flux: 'InProgress' };
    for (const [, view, conditions] of SITUATIONS) {
      const stale = itemOf(conditions, { metadata: { generation: 3 }, status: { observedGeneration: 2 } });
      expect(healthOf(view, stale)).toEqual(waiting);
      const fresh = itemOf(conditions, { metadata: { generation: 3 }, status: { observedGeneration: 3 } });
      expect(healthOf(view, fresh)).toEqual(expected(view.state(fresh)));
    }
  });

  it('covers every kind for Argo CD, and for Flux every kind that users write', () => {
    const ours = Object.values(RESOURCES)
      .filter(({ group }) => group === 'agentplane.dev')
      .map(({ kind }) => kind)
      .sort();
    expect([...argo.kinds].sort()).toEqual(ours);
    expect([...flux.kinds].sort()).toEqual(
      ours.filter((kind) => kind !== 'AgentRevision' && kind !== 'BulkExportRun'),
    );
  });
});
