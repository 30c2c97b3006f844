import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client } from '@langchain/langgraph-sdk';
import { Informer, KubeClient, loadKubeConnection } from '#lib/kube';
import { ANNOTATION, COMPONENT, LABEL, type Pod, PODS } from '#lib/resources';
import { createLogger, METRICS, type Program, PROGRAMS } from '#lib/telemetry';
import {
  type ExpositionFamily,
  type OtlpReceiver,
  parseExposition,
  startOtlpReceiver,
  waitFor,
} from '#lib/testing';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { Rest } from '../support/rest.js';

type Scrape = ReadonlyMap<string, ExpositionFamily>;

const DEPLOYMENT = 'scraped-agent';
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
/** Programs that are pods, by the component that their label names. */
const POD_PROGRAMS: Readonly<Record<string, Program>> = {
  [COMPONENT.listener]: 'listener',
  [COMPONENT.agentApi]: 'agent-server',
  'export-worker': 'export-worker',
};

/** One platform, one run, one export; then every program is scraped. */
describe('telemetry of the platform', () => {
  const dataFolder = newDataFolder();
  const scrapes = new Map<Program, Scrape>();
  let collector: OtlpReceiver;
  let platform: Platform;
  let rest: Rest;
  let client: KubeClient;
  let pods: Informer<Pod>;

  beforeAll(async () => {
    collector = await startOtlpReceiver();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
    platform = await startPlatform(dataFolder, { environment });
    rest = new Rest(platform.credentials);
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig }));
    pods = new Informer<Pod>({ client, ref: PODS, log: createLogger('test', 'silent') });
    pods.start();
    await pods.synced();
    const worker = scrapeWorker();
    await exportRuns(await runAgent());
    await worker;
    for (const [program, url] of Object.entries(await addresses()))
      scrapes.set(program as Program, await scrape(url));
  });

  afterAll(async () => {
    await pods.stop();
    await client.close();
    await platform.stop();
    await collector.stop();
    removeDataFolder(dataFolder);
  });

  async function scrape(url: string): Promise<Scrape> {
    const answer = await fetch(url);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    return parseExposition(await answer.text());
  }

  function podUrl({ metadata }: Pod): string | undefined {
    const text = metadata.annotations?.[ANNOTATION.loopbackPorts];
    const port = text === undefined ? undefined : (JSON.parse(text) as Record<string, number>)['9464'];
    return port === undefined ? undefined : `http://127.0.0.1:${port}/metrics`;
  }

  /** Where all programs that run now serve their metrics. */
  async function addresses(): Promise<Readonly<Record<string, string>>> {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['bin/agentplane.js', 'status', '-o', 'json', '--data', dataFolder],
      { cwd: repository },
    );
    const parts = JSON.parse(stdout) as readonly { part: string; state: string; detail: string }[];
    const shown = parts.filter(({ part, state }) => part.startsWith('program/') && state === 'ok');
    const found = Object.fromEntries(shown.map(({ part, detail }) => [part.slice(8), detail]));
    for (const pod of pods.list()) {
      const program = POD_PROGRAMS[pod.metadata.labels?.[LABEL.component] ?? ''];
      const url = podUrl(pod);
      if (program && url && program !== 'export-worker') found[program] = url;
    }
    return found;
  }

  /** An export worker lives for moments: it is asked again and again until it ends; its last answer counts. */
  async function scrapeWorker(): Promise<void> {
    const isWorker = ({ metadata }: Pod): boolean => metadata.labels?.[LABEL.component] === 'export-worker';
    let hasAnswered = false;
    const look = async (): Promise<boolean> => {
      const url = pods
        .list()
        .filter((pod) => isWorker(pod) && pod.status?.phase !== 'Succeeded')
        .map(podUrl)
        .find((one) => one !== undefined);
      const answer = url === undefined ? undefined : await scrape(url).catch(() => undefined);
      if (answer) scrapes.set('export-worker', answer);
      if (hasAnswered && !answer) return true;
      hasAnswered ||= answer !== undefined;
      return false;
    };
    await waitFor(look, { intervalMs: 5, timeoutMs: 200_000 });
  }

  /** @returns when the run had ended */
  async function runAgent(): Promise<number> {
    const made = await rest.post<{ id: string; latest_revision_id: string }>('/v2/deployments', {
      name: DEPLOYMENT,
      source: 'internal_image',
      source_config: {},
      secrets: [],
      source_revision_config: { image_uri: 'sample-agent' },
    });
    expect(made.status).toBe(201);
    const url = await waitFor(
      async () => {
        const { body } = await rest.get<{
          url?: string | null;
          status: string;
          active_revision_id: string | null;
        }>(`/v2/deployments/${made.body.id}`);
        return body.active_revision_id !== null && body.url ? body.url : undefined;
      },
      { what: 'the deployment' },
    );
    const agent = new Client({ apiUrl: url, apiKey: platform.credentials.apiKey });
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    await agent.runs.wait(null, 'agent', { input });
    return Date.now();
  }

  async function exportRuns(ranAtMs: number): Promise<void> {
    const project = await waitFor(
      async () => {
        const { body } = await rest.get<{ id: string }[]>(`/sessions?name=${DEPLOYMENT}`);
        return body[0]?.id;
      },
      { what: 'the project' },
    );
    const { body: destinations } = await rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    await waitFor(
      async () => {
        const text = await (
          await fetch(`${new URL('/metrics', platform.credentials.metrics['api']).href}`)
        ).text();
        const stored = parseExposition(text).get('agentplane_ingest_operations_total')?.samples ?? [];
        return stored.reduce((sum, { value }) => sum + value, 0) > 0;
      },
      { what: 'the traces of the run' },
    );
    // the window must be over, and the run in it
    await waitFor(() => Date.now() > ranAtMs + 200);
    const now = Date.now();
    const made = await rest.post<{ id: string }>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destinations[0]?.id,
      session_id: project,
      start_time: new Date(now - 3_600_000).toISOString(),
      end_time: new Date(now - 100).toISOString(),
    });
    expect(made.status).toBeLessThan(300);
    await waitFor(
      async () => {
        const { body } = await rest.get<{ status: string }>(`/api/v1/bulk-exports/${made.body.id}`);
        return body.status === 'COMPLETED';
      },
      { what: 'the export' },
    );
  }

  it.each(PROGRAMS)('shows every metric of %s with its help and type, and no other', (program) => {
    const found = scrapes.get(program);
    const wanted = Object.values(METRICS).filter((metric) =>
      (metric.programs as readonly Program[]).includes(program),
    );
    for (const { name, help, kind } of wanted) expect(found?.get(name)).toMatchObject({ help, type: kind });
    const shown = [...(found?.keys() ?? [])].filter((name) => name.startsWith('agentplane_'));
    expect(shown.sort()).toEqual(wanted.map(({ name }) => name).sort());
    expect(found?.get('process_resident_memory_bytes')?.samples[0]?.value).toBeGreaterThan(0);
  });

  it.each<[Program, string, Readonly<Record<string, string>>]>([
    ['supervisor', 'program_up', { program: 'api' }],
    ['api', 'http_request_duration_seconds', { status_class: '2xx' }],
    ['api', 'ingest_operations_total', { kind: 'post' }],
    ['api', 'ingest_bytes_total', {}],
    ['api', 'ingest_duration_seconds', { outcome: 'stored' }],
    ['controller', 'reconcile_passes_total', { controller: 'agent-deployment' }],
    ['controller', 'reconcile_duration_seconds', { controller: 'bulk-export-run' }],
    ['controller', 'leader', {}],
    ['controller', 'export_attempts_total', { kind: 'first' }],
    ['controller', 'export_runs_total', { outcome: 'completed' }],
    ['controller', 'export_rows_total', {}],
    ['controller', 'export_bytes_total', {}],
    ['listener', 'reconcile_passes_total', { controller: 'rollout' }],
    ['listener', 'leader', {}],
    ['agent-server', 'http_request_duration_seconds', { route: '/runs/wait', status_class: '2xx' }],
    ['agent-server', 'agent_run_attempts_total', { outcome: 'success' }],
    ['agent-server', 'agent_run_duration_seconds', {}],
    ['embedded', 'reconcile_passes_total', { controller: 'replica-set' }],
    ['embedded', 'kube_requests_total', { resource: 'pods', status_class: '2xx' }],
    ['embedded', 'kube_request_duration_seconds', { verb: 'create' }],
    ['embedded', 'kube_watches_open', {}],
    ['embedded', 'kube_change_log_length', {}],
    ['embedded', 'object_store_requests_total', { method: 'PUT', status_class: '2xx' }],
    ['embedded', 'node_pods', { phase: 'Running' }],
  ])('counts the work in %s as %s %j', (program, name, labels) => {
    const samples = scrapes.get(program)?.get(`agentplane_${name}`)?.samples ?? [];
    const matching = samples.filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    expect(matching.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThan(0);
  });

  it('names no tenant, user or object in any label', () => {
    const { tenantId, apiKey } = platform.credentials;
    for (const [program, families] of scrapes)
      for (const { name, samples } of families.values())
        for (const value of samples.flatMap(({ labels }) => Object.values(labels))) {
          const at = `${program} ${name}: ${value}`;
          expect(at).not.toMatch(UUID);
          for (const word of [tenantId, apiKey, DEPLOYMENT, 'sample-agent', 'ws-default', dataFolder])
            expect(at).not.toContain(word);
        }
  });

  it('traces requests, batches, passes, runs and exports across processes', async () => {
    const spanOf = (service: string, name: RegExp) =>
      collector.spans.filter((span) => span.service === `agentplane-${service}` && name.test(span.name));
    const parentOf = (service: string, name: RegExp) => {
      const ids = new Set(spanOf(service, name).map(({ parentSpanId }) => parentSpanId));
      return collector.spans
        .filter(({ spanId }) => ids.has(spanId))
        .map((span) => `${span.service} ${span.name}`);
    };
    await waitFor(
      () =>
        spanOf('export-worker', /^export attempt$/).length > 0 &&
        spanOf('agent-server', /^agent run$/).length > 0 &&
        parentOf('api', /^ingest batch$/).length > 0 &&
        parentOf('export-worker', /^export attempt$/).length > 0,
      { what: 'the spans' },
    );
    expect(parentOf('api', /^ingest batch$/)).toContainEqual(
      expect.stringMatching(/^agentplane-api POST \/runs/),
    );
    expect(parentOf('agent-server', /^agent run$/)).toContain('agentplane-agent-server POST /runs/wait');
    expect(parentOf('export-worker', /^export attempt$/)).toContain(
      'agentplane-controller reconcile bulk-export-run',
    );
    expect(parentOf('export-worker', /^export part$/)).toContain('agentplane-export-worker export attempt');
    expect(spanOf('listener', /^reconcile rollout$/)).not.toEqual([]);
  });
});
