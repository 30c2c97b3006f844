/** Metrics are counted for a whole process. @own-process */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { loadConfig } from '#lib/config';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import type { ProgramContext, Stoppable } from '#lib/lifecycle';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { freePort, parseExposition, testEmbeddedKube, testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { CONFIG } from './config.js';
import { startApplication } from './start-application.js';

const SYSTEM = 'agentplane-system';

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A controller in this process, with what a program's life would own. */
class Candidate {
  readonly owned: Stoppable[] = [];
  readonly #abort = new AbortController();
  #started: Promise<void> = Promise.resolve();
  #port = 0;

  async start(identity: string, kubeconfigPath: string, databaseUri: string): Promise<void> {
    this.#port = await freePort();
    const config = loadConfig(CONFIG, {
      KUBECONFIG: kubeconfigPath,
      AGENTPLANE_DATABASE_URI: databaseUri,
      AGENTPLANE_DATABASE_ADMIN_URI: databaseUri,
      AGENTPLANE_API_URL: 'http://127.0.0.1:9',
      AGENTPLANE_IDENTITY: identity,
      AGENTPLANE_INTERNAL_PORT: String(this.#port),
    });
    const log = createLogger('test', 'silent');
    const context: ProgramContext = {
      own: (part) => {
        this.owned.push(part);
        return part;
      },
      signal: this.#abort.signal,
      stop: () => {},
    };
    const surroundings = { config, log, clock: systemClock, onLostLeadership: () => {} };
    this.#started = startApplication(surroundings, context);
    this.#started.catch(() => undefined);
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.#port}${path}`;
  }

  async ask(path: string): Promise<Answer> {
    const response = await fetch(this.url(path));
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  async scrape(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#port}/metrics`)).text();
  }

  waitUntil(body: Answer['body']): Promise<unknown> {
    const probe = async (): Promise<boolean> => {
      const answer = await this.ask('/readyz');
      expect(answer.body).toEqual(body);
      return true;
    };
    return waitFor(probe);
  }

  /** Stops the parts in reverse; answers what readiness said before each. */
  async stop(): Promise<readonly string[]> {
    this.#abort.abort(new Error('the test is over'));
    const order: string[] = [];
    for (let part = this.owned.pop(); part; part = this.owned.pop()) {
      const { status } = await this.ask('/readyz');
      order.push(`${part.name} while readiness answers ${status}`);
      await part.stop();
    }
    await this.#started.catch(() => undefined);
    return order;
  }
}

describe('startApplication', () => {
  const kube = testEmbeddedKube();
  const postgres = testPostgres();
  const [first, second] = [new Candidate(), new Candidate()];
  let client: KubeClient;
  let databaseUri: string;

  beforeAll(async () => {
    databaseUri = (await postgres.freshDatabase()).uri;
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath }));
    await client.create(NAMESPACES, { metadata: { name: SYSTEM } });
    await first.start('first', kube.kubeconfigPath, databaseUri);
  });
  afterAll(async () => {
    await first.stop();
    await client.close();
  });

  it('reports alive and not ready while the kinds of the platform are missing, and names them', async () => {
    const { body } = await waitFor(async () => {
      const answer = await first.ask('/readyz');
      return String(answer.body['waits_for']).startsWith('the first lists') && answer;
    });
    expect(await first.ask('/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
    expect(await first.ask('/readyz')).toMatchObject({ status: 503, body: { ready: false, leading: false } });
    expect(body['waits_for']).toContain('agentplane.dev/workspaces');
  });

  it('leads once its caches are complete', async () => {
    const folder = join(process.cwd(), 'crds');
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml')))
      await client.create(
        CUSTOM_RESOURCE_DEFINITIONS,
        parse(readFileSync(join(folder, file), 'utf8')) as never,
      );
    await first.waitUntil({ ready: true, leading: true, waits_for: null });
    expect((await first.ask('/readyz')).status).toBe(200);
  });

  it('serves its metrics beside the probes', async () => {
    const families = parseExposition(await first.scrape());
    expect(families.get('agentplane_leader')?.samples[0]?.value).toBe(1);
    const depths = families.get('agentplane_reconcile_queue_depth')?.samples;
    expect(depths?.map(({ labels }) => labels['controller'])).toContain('agent-deployment');
  });

  it('reports ready and does not lead while another candidate holds the lease', async () => {
    await second.start('second', kube.kubeconfigPath, databaseUri);
    await second.waitUntil({ ready: true, leading: false, waits_for: 'leadership, which first holds' });
  });

  it('stops work before events, store and client, and answers probes until then', async () => {
    expect(await first.stop()).toEqual([
      'ticks while readiness answers 503',
      'left uploads while readiness answers 503',
      'controllers while readiness answers 503',
      'events while readiness answers 503',
      'trace store while readiness answers 503',
      'kubernetes client while readiness answers 503',
      'internal server while readiness answers 503',
    ]);
  });

  it('hands leadership to the candidate that waits', async () => {
    await second.waitUntil({ ready: true, leading: true, waits_for: null });
    await second.stop();
  });
});
