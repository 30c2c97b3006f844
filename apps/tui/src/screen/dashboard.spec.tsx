import { render } from 'ink-testing-library';
import type { Condition } from '#lib/resources';
import { systemClock } from '#lib/time';
import { EMPTY, type Snapshot, type SnapshotFeed } from '../feed/snapshot.js';
import { RateRecorder } from '../rows/rate-recorder.js';
import { Dashboard } from './dashboard.js';
import { printOnce } from './print-once.js';

class ListFeed implements SnapshotFeed {
  #changed: () => void = () => undefined;
  constructor(public current: Snapshot) {}
  subscribe(changed: () => void): () => void {
    this.#changed = changed;
    return () => undefined;
  }
  show(snapshot: Snapshot): void {
    this.current = snapshot;
    this.#changed();
  }
}

function condition(type: string, status: Condition['status'], reason = type, message = ''): Condition {
  return { type, status, reason, message, lastTransitionTime: '2026-05-01T00:00:00Z' };
}

const FULL: Snapshot = {
  ...EMPTY,
  deployments: [
    {
      metadata: { name: 'sample-agent', namespace: 'ws' },
      spec: {},
      status: {
        conditions: [condition('Ready', 'True')],
        activeRevisionName: 'sample-agent-00001',
        latestRevisionName: 'sample-agent-00001',
      },
    },
  ],
  revisions: [
    {
      metadata: { name: 'sample-agent-00001', namespace: 'ws' },
      spec: { deploymentName: 'sample-agent' },
      status: { serving: true },
    },
  ],
  exports: [
    {
      metadata: { name: 'last-day', namespace: 'ws' },
      spec: {},
      status: { rows: 10, percent: 25, runs: { running: 1 } },
    },
  ],
};

async function eventually(check: () => void): Promise<void> {
  const deadline = performance.now() + 3000;
  for (;;) {
    try {
      return check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function show(feed: SnapshotFeed): ReturnType<typeof render> {
  return render(
    <Dashboard feed={feed} clock={systemClock} rates={new RateRecorder()} place="ws" qualified={false} />,
  );
}

describe('Dashboard', () => {
  it('shows what to apply while there are no resources', async () => {
    const screen = show(new ListFeed(EMPTY));
    await eventually(() => expect(screen.lastFrame()).toContain('kubectl apply -f examples/deployment.yaml'));
    screen.unmount();
  });

  it('follows the feed', async () => {
    const feed = new ListFeed(EMPTY);
    const screen = show(feed);
    await eventually(() => expect(screen.lastFrame()).toContain('none yet'));
    feed.show(FULL);
    await eventually(() => {
      expect(screen.lastFrame()).toMatch(/sample-agent +● Ready/);
      expect(screen.lastFrame()).toMatch(/└ 00001 +● Serving/);
      expect(screen.lastFrame()).toMatch(/last-day +● Running +████░/);
    });
    screen.unmount();
  });

  it('reports that the connection is lost', async () => {
    const feed = new ListFeed(FULL);
    const screen = show(feed);
    feed.show({ ...FULL, trouble: 'watch failed, showing the state of 14:10:16 UTC' });
    await eventually(() =>
      expect(screen.lastFrame()).toContain('watch failed, showing the state of 14:10:16 UTC'),
    );
    feed.show(FULL);
    await eventually(() => expect(screen.lastFrame()).not.toContain('No connection'));
    screen.unmount();
  });

  it('moves, folds and helps by keys', async () => {
    const screen = show(new ListFeed(FULL));
    await eventually(() => expect(screen.lastFrame()).toContain('▸ sample-agent'));
    await eventually(() => {
      screen.stdin.write('j');
      expect(screen.lastFrame()).toContain('▸ last-day');
    });
    screen.stdin.write('g');
    await eventually(() => expect(screen.lastFrame()).toContain('▸ sample-agent'));
    screen.stdin.write(' ');
    await eventually(() => {
      expect(screen.lastFrame()).not.toContain('└ 00001');
      expect(screen.lastFrame()).toContain('▸ sample-agent +1');
    });
    screen.stdin.write(' ');
    await eventually(() => expect(screen.lastFrame()).toContain('└ 00001'));
    screen.stdin.write('?');
    await eventually(() => expect(screen.lastFrame()).toMatch(/enter +open or close/));
    screen.unmount();
  });
});

describe('Dashboard with more rows than lines', () => {
  const many = Array.from({ length: 60 }, (_, at) => ({
    metadata: { name: `agent-${String(at).padStart(2, '0')}`, namespace: 'ws' },
    spec: {},
    status: { conditions: [condition('Ready', 'False', 'CrashLoop', 'it fell')] },
  }));

  it('shows the rows around the selected one and counts the others', async () => {
    const screen = show(new ListFeed({ ...FULL, deployments: many, revisions: [] }));
    await eventually(() => expect(screen.lastFrame()).toMatch(/▸ agent-00 .*\n.*agent-01/));
    expect(screen.lastFrame()).toMatch(/DEPLOYMENTS 60 ↓\d+/);
    expect(screen.lastFrame()).toContain('agent-00: it fell');
    expect(screen.lastFrame()).toContain('last-day');
    await eventually(() => {
      screen.stdin.write('jj');
      expect(screen.lastFrame()).toMatch(/DEPLOYMENTS 60 ↑\d+ ↓\d+/);
    });
    await eventually(() => {
      screen.stdin.write('G');
      expect(screen.lastFrame()).toContain('▸ last-day');
    });
    screen.unmount();
  });
});

describe('printOnce', () => {
  it('aligns its columns, and reports empty tables', () => {
    const text = printOnce({ ...FULL, exports: [] }, new Date());
    const at = text.indexOf('REVISION');
    expect(text.split('\n')[1]?.slice(at)).toMatch(/^00001/);
    expect(text).toContain('EXPORTS: none');
  });

  it('prints the same without a terminal', () => {
    const text = printOnce(FULL, new Date());
    expect(text).toMatch(/sample-agent +Ready/);
    expect(text).toMatch(/last-day +Running +25 % +10 /);
  });
});
