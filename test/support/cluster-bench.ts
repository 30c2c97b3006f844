import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Client } from '@langchain/langgraph-sdk';
import pg from 'pg';
import { type EmbeddedObjectStore, startObjectStore } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { waitFor } from '#lib/testing';
import { agentAt, urlOf } from '../e2e/walk-rows.js';
import { expectDone } from './enqueued-run.js';
import { Kubectl } from './kubectl.js';
import { commandsBelow, PageShell } from './page-commands.js';
import { type Credentials, repository } from './platform.js';
import { buildImages, NODE_ADDRESS, RealCluster } from './real-cluster.js';
import { Rest } from './rest.js';
import { type LoadReport, SteadyLoad } from './steady-load.js';

const PAGE = 'cluster.md';
const BUCKET = 'exports';
/** Namespace of the platform, as the page has it. */
export const SYSTEM = 'agentplane-system';
/** Every pod of the platform must be admitted by the strictest of the Pod Security Standards. */
export const RESTRICTED = ['pod-security.kubernetes.io/enforce=restricted'];

/** What a test needs to know of a pod. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: { readonly podIP?: string };
}

/** A Service to a Postgres, and the Secret with its address. */
export interface Database {
  readonly secret: string;
  readonly service: string;
  readonly namespace: string;
}

/** A real node with the images of the Containerfile and an object store beside it, on which docs/cluster.md is followed. */
export class ClusterBench {
  readonly shell: PageShell;
  #store: EmbeddedObjectStore;

  private constructor(
    readonly cluster: RealCluster,
    readonly kubectl: Kubectl,
    store: EmbeddedObjectStore,
    private readonly folder: string,
  ) {
    this.#store = store;
    const PATH = [join(kubectl.binary, '..'), process.env.PATH].join(delimiter);
    this.shell = new PageShell(
      { PATH, HOME: folder, KUBECONFIG: cluster.kubeconfig },
      {
        'registry.example.com/team/my-agent:1': 'localhost/sample-agent:1',
        'registry.example.com/team/': 'localhost/',
        'destination.yaml': this.#fillInDestination(),
        'postgres://agentplane:PASSWORD@HOST': 'postgres://agentplane:own@postgres.databases.svc',
        'postgres://deployments:PASSWORD@HOST': 'postgres://deployments:own@postgres.databases.svc',
      },
    );
  }

  /**
   * Builds images where their sources have changed, which takes minutes.
   * @param home with the programs of Kubernetes
   * @param folder for its files
   */
  static async up(home: string, folder: string): Promise<ClusterBench> {
    const archive = buildImages();
    const cluster = RealCluster.up(home, { isNode: true });
    cluster.load(archive);
    const kubectl = new Kubectl(join(home, 'bin', 'kubectl'), cluster.kubeconfig);
    return new ClusterBench(cluster, kubectl, await startStore(folder, 0), folder);
  }

  async down(): Promise<void> {
    await this.#store.stop();
    this.cluster.down();
  }

  get objectStore(): Credentials['objectStore'] {
    return {
      endpoint: this.#store.endpoint,
      region: 'us-east-1',
      bucket: BUCKET,
      accessKeyId: 'walker',
      secretAccessKey: 'walker-secret',
    };
  }

  /** Nothing listens at its address until `bringStoreBack`. */
  async takeStoreAway(): Promise<void> {
    await this.#store.stop();
  }

  async bringStoreBack(): Promise<void> {
    this.#store = await startStore(this.folder, Number(new URL(this.#store.endpoint).port));
  }

  /** A block of commands of docs/cluster.md. */
  page(heading: string, at = 0): string {
    const block = commandsBelow(PAGE, heading)[at];
    if (block === undefined) throw new Error(`${PAGE} has no block ${at} below ${heading}`);
    return block;
  }

  /** The nftables of kube-proxy serve this machine too, as they do any node. */
  serviceUrl(name: string, namespace: string): string {
    const words = ['--kubeconfig', this.cluster.kubeconfig, '-n', namespace, 'get', 'svc', name, '-o'];
    const path = 'jsonpath={.spec.clusterIP}:{.spec.ports[0].port}';
    return `http://${execFileSync(this.kubectl.binary, [...words, path], { encoding: 'utf8' })}`;
  }

  /** The address of an agent as this process reaches it. */
  reach(url: string): string {
    const [name = '', namespace = ''] = new URL(url).hostname.split('.');
    return this.serviceUrl(name, namespace);
  }

  async awaitService(url: string): Promise<void> {
    const ask = (): Promise<boolean> => fetch(`${this.reach(url)}/ok`).then(({ ok }) => ok);
    await waitFor(() => ask().catch(() => false), { what: `the Service at ${url}` });
  }

  /** One key of a Secret of the platform. */
  async secret(name: string, key: string): Promise<string> {
    const path = `go-template={{index .data "${key}" | base64decode}}`;
    return this.kubectl.run(['-n', SYSTEM, 'get', 'secret', name, '-o', path]);
  }

  /** Namespace of the first workspace. */
  async workspaceNamespace(): Promise<string> {
    return this.kubectl.run(['get', 'workspace', 'default', '-o', 'jsonpath={.status.namespace}']);
  }

  async restWithFirstKey(): Promise<Rest> {
    const tenantId = await this.kubectl.run([
      'get',
      'workspace',
      'default',
      '-o',
      'jsonpath={.spec.tenantId}',
    ]);
    const apiKey = await this.secret('agentplane-first-key', 'api-key');
    return new Rest({ restUrl: this.serviceUrl('agentplane-api', SYSTEM), apiKey, tenantId });
  }

  /** Rows of a query on the database of traces. */
  async query(
    database: Database,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<Record<string, unknown>[]> {
    const uri = new URL(await this.secret(database.secret, 'uri'));
    uri.host = new URL(this.serviceUrl(database.service, database.namespace)).host;
    const client = new pg.Client({ connectionString: uri.href });
    await client.connect();
    try {
      return (await client.query(sql, [...values])).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  /** Fails unless everything that callers were promised is kept: traces are stored once, runs are done once. */
  async expectKept(database: Database, { ingested, enqueued, agent }: LoadReport): Promise<void> {
    const rows = await waitFor(
      async () => {
        const found = await this.query(database, 'SELECT id FROM runs WHERE id = ANY($1)', [ingested]);
        return found.length >= ingested.length && found;
      },
      { what: 'acknowledged runs in the store' },
    );
    if (rows.length !== ingested.length) throw new Error(`${rows.length} rows for ${ingested.length} runs`);
    await expectDone(agent, enqueued);
  }

  async podsOf(component: string, namespace = SYSTEM): Promise<readonly Pod[]> {
    const words = ['get', 'pods', '-l', `app.kubernetes.io/component=${component}`, '-o', 'json'];
    return (JSON.parse(await this.kubectl.run(['-n', namespace, ...words])) as { items: Pod[] }).items;
  }

  /** As `kubectl drain` does: the disruption budget is asked. */
  async evict(namespace: string, name: string): Promise<void> {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name } };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
    await this.kubectl.run(['create', '--raw', path, '-f', '-'], { input: JSON.stringify(eviction) });
  }

  /** Name of the controller that leads, or nothing. */
  async leader(): Promise<string> {
    const words = ['get', 'lease', 'agentplane-controller', '-o', 'jsonpath={.spec.holderIdentity}'];
    return this.kubectl.run(['-n', SYSTEM, ...words]);
  }

  /** Waits for another controller than `former` to lead; the milliseconds that it took. */
  async awaitOtherLeader(former: string): Promise<number> {
    const began = performance.now();
    await waitFor(async () => ![former, ''].includes(await this.leader()), {
      what: 'another leader',
      timeoutMs: 60_000,
      intervalMs: 200,
    });
    return performance.now() - began;
  }

  /**
   * Callers of the REST interface and of an agent that serves.
   * @param pauseMs of each caller between two requests
   */
  async startLoad(rest: Rest, agent: string, pauseMs?: number): Promise<SteadyLoad> {
    return new SteadyLoad(rest, await this.agent(rest, agent), 'loaded', pauseMs);
  }

  /** A client of a deployment, through its Service. */
  async agent(rest: Rest, name: string): Promise<Client> {
    const { body } = await rest.get<{ resources: { id: string; name: string }[] }>('/v2/deployments');
    const id = body.resources.find((one) => one.name === name)?.id ?? '';
    const reach = (url: string): string => this.reach(url);
    return agentAt({ rest, reach }, await urlOf(rest, id));
  }

  /** What the pods of the api that are still there logged as a warning or worse. */
  async complaintsOfApi(): Promise<string> {
    const words = ['logs', '-l', 'app.kubernetes.io/component=api', '--tail=-1', '--prefix'];
    const lines = (await this.kubectl.run(['-n', SYSTEM, ...words])).split('\n');
    return `${lines.filter((line) => /"level":"(warn|error)"/.test(line)).join('\n')}\n`;
  }

  /** What the cluster reported of a namespace, oldest first, as Kubernetes keeps it: for an hour. */
  async eventsOf(namespace: string): Promise<string> {
    const words = ['get', 'events', '--sort-by=.lastTimestamp', '--no-headers', '-o'];
    const columns =
      'custom-columns=at:.lastTimestamp,first:.firstTimestamp,object:.involvedObject.name,reason:.reason,what:.message';
    return this.kubectl.run(['-n', namespace, ...words, columns]);
  }

  #fillInDestination(): string {
    const { endpoint, accessKeyId, secretAccessKey } = this.objectStore;
    const path = join(this.folder, 'destination.yaml');
    const filledIn = readFileSync(join(repository, 'examples/destination.yaml'), 'utf8')
      .replace('YOUR-ACCESS-KEY-ID', accessKeyId)
      .replace('YOUR-SECRET-ACCESS-KEY', secretAccessKey)
      .replace('my-bucket', BUCKET)
      .replace('# endpointUrl: https://store.example.com', `endpointUrl: ${endpoint}`);
    writeFileSync(path, filledIn);
    return path;
  }
}

function startStore(folder: string, port: number): Promise<EmbeddedObjectStore> {
  return startObjectStore({
    folder: join(folder, 'objects'),
    host: NODE_ADDRESS,
    port,
    buckets: [BUCKET],
    accessKeyId: 'walker',
    secretAccessKey: 'walker-secret',
    log: createLogger('store', 'error'),
  });
}
