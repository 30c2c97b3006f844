import { EMPTY, type ShownExport, type Snapshot } from '../feed/snapshot.js';
import { deploymentRows } from './deployment-rows.js';
import { exportRows } from './export-rows.js';
import { ALL_OPEN } from './row.js';
import { RateRecorder } from './rate-recorder.js';

const NOW = new Date('2026-05-01T12:00:00Z');

function deployment(
  name: string,
  conditions: object[],
  status: object = {},
): Snapshot['deployments'][number] {
  return {
    metadata: { name, namespace: 'ws', creationTimestamp: '2026-05-01T11:00:00Z' },
    spec: {},
    status: { conditions: conditions as never, ...status },
  };
}

function revision(name: string, deploymentName: string, conditions: object[]): Snapshot['revisions'][number] {
  return {
    metadata: { name, namespace: 'ws', creationTimestamp: '2026-05-01T11:59:00Z' },
    spec: { deploymentName, imageUri: 'x' },
    status: { image: 'local/x@sha256:1', conditions: conditions as never },
  };
}

function anExport(rows: number, percent: number, conditions: object[] = []): ShownExport {
  return {
    metadata: { name: 'all', namespace: 'ws' },
    spec: {},
    status: { rows, bytes: 1e6, percent, runs: { total: 1, running: 1 }, conditions: conditions as never },
  };
}

describe('deploymentRows', () => {
  it('shows a rollout in progress with both revisions below', () => {
    const rows = deploymentRows(
      {
        ...EMPTY,
        deployments: [
          deployment('a', [{ type: 'Ready', status: 'True', reason: 'Ready' }], {
            activeRevisionName: 'a-00001',
            latestRevisionName: 'a-00002',
            url: 'http://127.0.0.1:1',
          }),
        ],
        revisions: [
          revision('a-00001', 'a', [{ type: 'Active', status: 'True' }]),
          revision('a-00002', 'a', [{ type: 'Ready', status: 'False', reason: 'Deploying' }]),
          revision('b-00001', 'b', []),
        ],
      },
      NOW,
      ALL_OPEN,
    );
    expect(rows.map(({ name, depth, state }) => [name, depth, state.word, state.tone])).toEqual([
      ['a', 0, 'Ready', 'good'],
      ['00002', 1, 'Deploying', 'busy'],
      ['00001', 1, 'Serving', 'good'],
    ]);
    expect(rows[0]?.cells).toEqual(['00001 → 00002', '60m', 'http://127.0.0.1:1']);
    expect(rows.map((row) => row.last)).toEqual([false, false, true]);
  });

  it('shows why a revision failed', () => {
    const rows = deploymentRows(
      {
        ...EMPTY,
        deployments: [deployment('a', [])],
        revisions: [
          revision('a-00001', 'a', [
            { type: 'Failed', status: 'True', reason: 'GraphLoadFailed', message: 'no such file' },
          ]),
        ],
      },
      NOW,
      ALL_OPEN,
    );
    expect(rows[0]?.state.word).toBe('Pending');
    expect(rows[1]?.state).toEqual({ word: 'GraphLoadFailed', tone: 'bad', message: 'no such file' });
  });
});

describe('exportRows', () => {
  it('shows progress and rate while running', () => {
    const history = new RateRecorder();
    history.record({ ...EMPTY, exports: [anExport(0, 0)] }, 0);
    history.record({ ...EMPTY, exports: [anExport(20_000, 50)] }, 2000);
    const [row] = exportRows({ ...EMPTY, exports: [anExport(20_000, 50)] }, history, {
      ...ALL_OPEN,
      barWidth: 16,
    });
    expect(row?.state.word).toBe('Running');
    expect(row?.cells).toEqual(['████████░░░░░░░░  50 %', '20.0k', '1.0 MB', '█ 10.0k/s']);
  });

  it('shows a full bar once completed', () => {
    const [row] = exportRows(
      { ...EMPTY, exports: [anExport(5, 0, [{ type: 'Completed', status: 'True' }])] },
      new RateRecorder(),
      ALL_OPEN,
    );
    expect(row?.cells[0]).toContain('100 %');
    expect(row?.state.tone).toBe('good');
  });

  it.each([
    ['Running', 'Progressing', 'busy'],
    ['Running', 'Started', 'busy'],
    ['Queued', 'Queued', 'busy'],
    ['WaitingForWindow', 'WaitingForWindow', 'busy'],
  ])('shows %s while Ready is True for %s', (word, reason, tone) => {
    const ready = [{ type: 'Ready', status: 'True', reason, message: 'why' }];
    const [row] = exportRows({ ...EMPTY, exports: [anExport(5, 0, ready)] }, new RateRecorder(), ALL_OPEN);
    expect([row?.state.word, row?.state.tone]).toEqual([word, tone]);
  });

  it('closes completed exports by default and counts their runs', () => {
    const exportRuns = ['2026-05-01', '2026-05-02'].map((day) => ({
      metadata: { name: day, namespace: 'ws' },
      spec: { exportName: 'all', startTime: `${day}T00:00:00Z` },
    }));
    const shown = (conditions: object[]): [string, number][] =>
      exportRows({ ...EMPTY, exports: [anExport(5, 0, conditions)], exportRuns }, new RateRecorder(), {
        ...ALL_OPEN,
        isOpen: (_key, byDefault) => byDefault,
      }).map(({ name, hidden }) => [name, hidden]);
    expect(shown([])).toEqual([
      ['all', 0],
      ['2026-05-01', 0],
      ['2026-05-02', 0],
    ]);
    expect(shown([{ type: 'Completed', status: 'True' }])).toEqual([['all', 2]]);
  });

  it('qualifies names when several namespaces are shown', () => {
    const options = { ...ALL_OPEN, qualified: true };
    const [row] = exportRows({ ...EMPTY, exports: [anExport(5, 0)] }, new RateRecorder(), options);
    expect(row?.name).toBe('ws/all');
  });
});
