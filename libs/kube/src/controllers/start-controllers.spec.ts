/** Metrics are counted for a whole process. @own-process */
import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { controllerReference, done, type Result } from '#lib/reconcile';
import { createLogger, readTelemetrySettings, renderMetrics, startTelemetry, withSpan } from '#lib/telemetry';
import { parseExposition, startOtlpReceiver, testEmbeddedKube, waitFor, testKubeClient } from '#lib/testing';
import { EventRecorder } from '../events/event-recorder.js';
import { Informers } from '../informer/informers.js';
import { CONDITION, CONFIG_MAPS, DEPLOYMENTS, EVENTS, keyText, LEASES, SECRETS } from '#lib/resources';
import { LeaderElector } from '../leader/leader-elector.js';
import { passSubject } from './failure-reports.js';
import { fromObjects, fromOwned, isDesiredChange, startControllers } from './start-controllers.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

describe('startControllers', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);

  const metadata = (name: string) => ({ namespace: 'default', name, labels: { test: 'start' } });
  const selection = { namespace: 'default', labelSelector: 'test=start' };

  it('reports an error that repeats as a condition and an event, and takes the condition back', async () => {
    const labels = { app: 'failing' };
    const key = { namespace: 'default', name: 'failing' };
    const spec = {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'x' }] } },
    };
    await client.create(DEPLOYMENTS, { metadata: { ...key, labels: { test: 'failing' } }, spec });
    const informers = new Informers({ client, log: silent });
    const workloads = informers.of(DEPLOYMENTS, { namespace: 'default', labelSelector: 'test=failing' });
    const events = new EventRecorder({ client, component: 'tester', log: silent });
    let isBroken = true;
    const running = await startControllers({
      informers,
      log: silent,
      reporting: { client, events },
      controllers: [
        {
          name: 'workloads',
          reconcile: async (): Promise<Result> => {
            const malformed = { replicass: 2 } as object;
            if (isBroken) await client.apply(DEPLOYMENTS, { metadata: key, spec: malformed });
            return done();
          },
          subject: passSubject(DEPLOYMENTS, workloads),
          sources: [fromObjects(workloads, isDesiredChange)],
        },
      ],
    });
    const failing = async () =>
      (await client.get(DEPLOYMENTS, key)).status?.conditions?.find(
        ({ type }) => type === CONDITION.reconcileFailing,
      );
    await waitFor(async () => (await failing()) !== undefined);
    const said = await failing();
    expect([said?.status, said?.reason]).toEqual(['True', 'ReconcileFailed']);
    expect(said?.message).toMatch(
      /^retrying after an error: .*[.]spec[.]replicass: field not declared in schema$/,
    );
    await events.flush();
    const told = (await client.list(EVENTS, { namespace: 'default' })).items.map(({ message }) => message);
    expect(told).toContain(said?.message);
    isBroken = false;
    await client.merge(DEPLOYMENTS, key, { metadata: { annotations: { a: '1' } } });
    await waitFor(async () => (await failing()) === undefined);
    await running.stop();
    await client.delete(DEPLOYMENTS, key);
  });

  it('runs a pass for every object at the start, for each change, and for the owner of a changed child', async () => {
    const template = {
      metadata: { labels: { app: 'x' } },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    };
    const parent = await client.create(DEPLOYMENTS, {
      metadata: metadata('parent'),
      spec: { selector: { matchLabels: { app: 'x' } }, template },
    });
    const informers = new Informers({ client, log: silent });
    const passes: string[] = [];
    const workloads = informers.of(DEPLOYMENTS, selection);
    expect(informers.of(DEPLOYMENTS, selection)).toBe(workloads);
    const running = await startControllers({
      informers,
      log: silent,
      controllers: [
        {
          name: 'workloads',
          reconcile: (key): Promise<Result> => {
            passes.push(keyText(key));
            return Promise.resolve(done());
          },
          sources: [
            fromObjects(workloads, isDesiredChange),
            fromOwned(informers.of(SECRETS, selection), DEPLOYMENTS),
          ],
        },
      ],
    });
    await waitFor(() => passes.length === 1);
    const ownerReferences = [controllerReference(DEPLOYMENTS, parent)];
    await client.create(SECRETS, { metadata: { ...metadata('child'), ownerReferences } });
    await waitFor(() => passes.length === 2);
    const annotations = { a: '1' };
    await client.merge(SECRETS, { namespace: 'default', name: 'child' }, { metadata: { annotations } });
    await waitFor(() => passes.length === 3);
    const status = { status: { replicas: 1 } };
    const touched = await client.mergeStatus(DEPLOYMENTS, { namespace: 'default', name: 'parent' }, status);
    await workloads.waitFor(touched.metadata.resourceVersion ?? '');
    await client.merge(DEPLOYMENTS, { namespace: 'default', name: 'parent' }, { metadata: { annotations } });
    await waitFor(() => passes.length === 4);
    expect(new Set(passes)).toEqual(new Set(['default/parent']));
    await running.stop();
    await client.delete(DEPLOYMENTS, { namespace: 'default', name: 'parent' });
    expect(passes.length).toBe(4);
  });

  it('counts, times and traces its passes, and names controller, key and pass in their log lines', async () => {
    const collector = await startOtlpReceiver();
    const file = join(mkdtempSync(join(tmpdir(), 'passes-')), 'log');
    const descriptor = openSync(file, 'w');
    const log = createLogger('controller', 'info', descriptor);
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
    const settings = readTelemetrySettings(environment);
    const telemetry = await startTelemetry({ program: 'controller', log, settings });
    await client.create(CONFIG_MAPS, { metadata: { ...metadata('counted'), labels: { test: 'counted' } } });
    const informers = new Informers({ client, log });
    const maps = informers.of(CONFIG_MAPS, { namespace: 'default', labelSelector: 'test=counted' });
    let passes = 0;
    const running = await startControllers({
      informers,
      log,
      controllers: [
        {
          name: 'counted default',
          backoff: { firstMs: 1, longestMs: 1 },
          sources: [fromObjects(maps)],
          reconcile: (): Promise<Result> =>
            withSpan('work', {}, () => {
              passes++;
              return passes === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(done());
            }),
        },
      ],
    });
    await waitFor(() => passes === 2);
    const { text } = await renderMetrics('controller');
    await running.stop();
    await telemetry.stop();
    await collector.stop();
    closeSync(descriptor);

    const families = parseExposition(text);
    expect(families.get('agentplane_reconcile_passes_total')?.samples).toContainEqual({
      name: 'agentplane_reconcile_passes_total',
      labels: { controller: 'counted', outcome: 'retry' },
      value: 1,
    });
    for (const name of ['errors_total', 'duration_seconds', 'queue_depth', 'queue_oldest_seconds'])
      expect(families.get(`agentplane_reconcile_${name}`)?.samples.length).toBeGreaterThan(0);
    expect(families.get('agentplane_watch_silence_seconds')?.samples).toHaveLength(1);

    const failed = readFileSync(file, 'utf8')
      .split('\n')
      .find((line) => line.includes('reconcile failed'));
    const line = JSON.parse(failed ?? '{}') as Readonly<Record<string, string>>;
    expect(line).toMatchObject({ controller: 'counted default', key: 'default/counted' });
    const pass = collector.spans.find(({ attributes }) => attributes['reconcile.id'] === line.reconcileId);
    expect(pass).toMatchObject({ name: 'reconcile counted', attributes: { 'reconcile.outcome': 'retry' } });
    expect(collector.spans.find(({ parentSpanId }) => parentSpanId === pass?.spanId)).toMatchObject({
      name: 'work',
      isError: true,
    });
  });

  it('works only while it leads, and gives the lease back after the last pass', async () => {
    const lease = { namespace: 'default', name: 'start' };
    await client.create(LEASES, {
      metadata: lease,
      spec: { holderIdentity: 'other', leaseDurationSeconds: 1 },
    });
    await client.create(CONFIG_MAPS, { metadata: metadata('work') });
    const leader = new LeaderElector({
      connection: client.connection,
      lease,
      identity: 'me',
      log: silent,
      retryMs: 50,
      leaseDurationMs: 1_000,
    });
    const informers = new Informers({ client, log: silent });
    const held: (string | null | undefined)[] = [];
    const running = await startControllers({
      informers,
      leader,
      log: silent,
      controllers: [
        {
          name: 'maps',
          reconcile: async (): Promise<Result> => {
            held.push((await client.get(LEASES, lease)).spec?.holderIdentity);
            return done();
          },
          sources: [fromObjects(informers.of(CONFIG_MAPS, selection))],
        },
      ],
    });
    expect(held).toEqual([]);
    await running.working;
    await waitFor(() => held.length > 0);
    expect(held[0]).toBe('me');
    await running.stop();
    expect((await client.get(LEASES, lease)).spec?.holderIdentity).toBe('');
  });
});
