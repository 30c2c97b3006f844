import {
  type BulkExport,
  findCondition,
  idOf,
  isConditionTrue,
  JOBS,
  LABEL,
  LEASES,
  RESOURCES,
  SERVICES,
} from '#lib/resources';
import { type SteppedClock, steppedClock, waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, SYSTEM, testControlPlane } from '../control-plane/control-plane.js';

const HOUR_S = 3_600;
const HOUR_MS = HOUR_S * 1_000;
/** Longer than a lease: whoever would lose its lead has lost it by then. */
const LEASE_MS = 17_000;
const at = (name: string) => ({ namespace: NAMESPACE, name });
const hasFakeTime = steppedClock() !== undefined;
if (!hasFakeTime)
  process.stderr.write(
    '\n*** LEFT OUT: libfaketime is missing, so no clock was set ("apt-get install faketime").\n\n',
  );

/** The clock of one program is set by an hour, both ways, while it leads, rolls out and exports. */
(hasFakeTime ? describe : describe.skip)('a control plane with one clock that is set', () => {
  const start = testControlPlane();
  const clocks = new Map<string, SteppedClock>();
  let plane: ControlPlane;
  let projectId: string;
  let count = 0;

  beforeAll(async () => {
    plane = await start();
    projectId = (await plane.traces.projects.ensure(plane.tenantId, 'p')).id;
    for (const name of ['controller', 'listener'] as const) {
      const clock = steppedClock();
      if (!clock) continue;
      clocks.set(name, clock);
      await plane.program(name).end('SIGTERM');
      if (name === 'controller') await plane.startController(clock.environment);
      else await plane.startListener({}, clock.environment);
    }
  });
  afterAll(() => plane.stop());
  afterEach(() => clocks.forEach((clock) => clock.step(0)));

  const holders = async () => {
    const all = await Promise.all([
      plane.client.list(LEASES, { namespace: SYSTEM }),
      plane.client.list(LEASES, { namespace: NAMESPACE }),
    ]);
    return all.flatMap(({ items }) =>
      items.map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity, spec?.leaseTransitions]),
    );
  };

  async function serve(name: string, number: number): Promise<void> {
    const revision = `${name}-0000${number}`;
    await plane.report(revision, { ready: true });
    await waitFor(
      async () =>
        (await plane.client.find(SERVICES, at(name)))?.spec.selector?.[LABEL.revision] === revision &&
        isConditionTrue(
          (await plane.client.get(RESOURCES.AgentDeployment, at(name))).status?.conditions,
          'Ready',
        ),
      { what: `${revision} to serve` },
    );
  }

  const rows = (['controller', 'listener'] as const).flatMap((program) =>
    [HOUR_S, -HOUR_S].map((by): [string, 'controller' | 'listener', number] => [
      by > 0 ? 'forward' : 'back',
      program,
      by,
    ]),
  );

  it.each(rows)(
    'keeps leads, rollouts and windows when, %s by an hour, the clock of the %s is set',
    async (_, program, by) => {
      const name = `d${++count}`;
      await plane.client.create(RESOURCES.AgentDeployment, {
        metadata: at(name),
        spec: {
          source: 'external_image',
          sourceConfig: {},
          sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
          suspend: false,
          revisionHistoryLimit: 10,
          minReadySeconds: 0,
        },
      });
      const first = await waitFor(() => plane.client.find(RESOURCES.AgentRevision, at(`${name}-00001`)));
      expect(idOf(first)).toBeDefined();
      // two exports: one may begin, the window of the other ends in half an hour of the database's time
      const soon = new Date(Date.now() + HOUR_MS / 2).toISOString().replace(/\.\d+Z/, 'Z');
      const exportOf = (export_: string, endTime: string): Promise<BulkExport> =>
        plane.client.create(RESOURCES.BulkExport, {
          metadata: at(export_),
          spec: {
            destinationRef: { name: 'local' },
            tracingProject: { id: projectId },
            startTime: '2026-05-01T00:00:00Z',
            endTime,
            format: 'parquet',
            formatVersion: 'v1',
            compression: 'zstd',
            cancel: false,
            suspend: false,
          },
        });
      const before = await holders();
      clocks.get(program)?.step(by);
      await waitFor(async () => (await plane.podsOf(`${name}-00001`)).length > 0);
      await serve(name, 1);
      const past = `x${count}-past`;
      await exportOf(past, '2026-05-02T00:00:00Z');
      await waitFor(
        async () =>
          (await plane.client.list(JOBS, { namespace: SYSTEM, labelSelector: `${LABEL.export}=${past}` }))
            .items.length > 0,
        { what: 'the worker of the export' },
      );
      const future = `x${count}-future`;
      await exportOf(future, soon);
      await waitFor(
        async () =>
          findCondition(
            (await plane.client.get(RESOURCES.BulkExport, at(future))).status?.conditions,
            'Accepted',
          )?.reason === 'WaitingForWindow',
        { what: 'the export to wait for its window' },
      );
      await plane.client.merge(RESOURCES.AgentDeployment, at(name), {
        spec: { sourceRevisionConfig: { imageUri: 'example.org/agent:2' } },
      });
      await waitFor(async () => (await plane.podsOf(`${name}-00002`)).length > 0);
      clocks.get(program)?.step(0); // and again while a rollout is under way, by an hour the other way
      await new Promise((resolve) => setTimeout(resolve, LEASE_MS)); // nothing may happen in this time
      await serve(name, 2);
      expect(await holders()).toEqual(before);
      const { status } = await plane.client.get(RESOURCES.Listener, at('default'));
      expect(findCondition(status?.conditions, 'HeartbeatFresh')?.status).toBe('True');
      const waiting = await plane.client.get(RESOURCES.BulkExport, at(future));
      expect(findCondition(waiting.status?.conditions, 'Accepted')?.reason).toBe('WaitingForWindow');
      for (const one of [past, future])
        await plane.client.merge(RESOURCES.BulkExport, at(one), { spec: { cancel: true } });
    },
  );

  it('ends without a complaint', () => {
    expect(plane.complaints).toEqual([]);
  });
});
