import { randomUUID } from 'node:crypto';
import { Client } from '@langchain/langgraph-sdk';
import { waitFor } from '#lib/testing';
import { type EnqueuedRun, expectDone } from './enqueued-run.js';
import { download, duckdb, listKeys, storeClient } from './export-reader.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from './platform.js';
import { descendants, listProcesses, programsBelow } from './process-tree.js';
import { Rest } from './rest.js';

/** Everything that may die or stand still on one machine, the supervisor aside. */
export const VICTIMS = [
  'api',
  'controller',
  'listener',
  'embedded',
  'agent-server',
  'export-worker',
  'postgres',
] as const;
export type Victim = (typeof VICTIMS)[number];

/** SIGKILL, or SIGSTOP and SIGCONT so many milliseconds later. */
export type Fault = { readonly kind: 'kill' } | { readonly kind: 'stop'; readonly ms: number };

const DAY = '2026-03-01';
const BATCH = 500;
const THREADS = 8;
const RUNS_PER_THREAD = 3;
const BODY = 'the quick brown fox jumps over the lazy dog. '.repeat(20);
/** The longest pause of a container that was restarted often, and an export's retry. */
const RECOVERED_MS = 240_000;

interface Deployment {
  readonly id: string;
  readonly latest_revision_id: string;
  readonly active_revision_id: string | null;
  readonly url?: string | null;
}

/** What the platform was doing when a fault came, and what must have come of it afterwards. */
interface UnderWay {
  readonly exportId: string;
  readonly revisionId: string;
  readonly acknowledged: Promise<readonly EnqueuedRun[]>;
}

/** How one row went. */
export interface RowResult {
  readonly acknowledged: number;
  readonly refused: number;
  /** Milliseconds from the fault until everything was done. */
  readonly tookMs: number;
  /** Every other `status_reason` that the revision had on its way. */
  readonly reasons: readonly string[];
}

function generatedRun(at: number, rows: number): Record<string, unknown> & { readonly id: string } {
  const id = randomUUID();
  const start = new Date(Date.parse(`${DAY}T00:00:00Z`) + Math.floor((at * 86_000_000) / rows));
  const time = start.toISOString().replace('Z', '000Z');
  return {
    id,
    trace_id: id,
    dotted_order: `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}`,
    name: 'generated',
    run_type: 'chain',
    session_name: 'many',
    start_time: time,
    end_time: time,
    inputs: { at, text: BODY },
    outputs: { at, text: BODY },
  };
}

/** One started platform with a project of many rows and an agent, on which faults are tried one after another. */
export class FaultBench {
  readonly #dataFolder = newDataFolder();
  readonly #sent = new Set<string>();
  readonly #rows: number;
  #platform: Platform | undefined;
  #deployment: Deployment | undefined;
  #count = 0;

  /** @param rows of the project that is exported in every row */
  constructor(rows: number) {
    this.#rows = rows;
  }

  get platform(): Platform {
    if (!this.#platform) throw new Error('the platform was not started');
    return this.#platform;
  }

  get rest(): Rest {
    return new Rest(this.platform.credentials);
  }

  async start(): Promise<void> {
    this.#platform = await startPlatform(this.#dataFolder);
    for (let from = 0; from < this.#rows; from += BATCH) {
      const post = Array.from({ length: BATCH }, (_, at) => generatedRun(from + at, this.#rows));
      for (const { id } of post) this.#sent.add(id);
      const { status } = await this.rest.post('/runs/batch', { post, patch: [] });
      if (status !== 202) throw new Error(`POST /runs/batch answered ${status}`);
    }
    const { body } = await this.rest.post<Deployment>('/v2/deployments', {
      name: 'faulty',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [{ name: 'COUNT', value: '0' }],
    });
    this.#deployment = body;
    await this.#deployed(body.latest_revision_id, []);
  }

  async stop(): Promise<void> {
    for (const victim of VICTIMS) this.signal(victim, 'SIGCONT');
    await this.#platform?.stop();
    removeDataFolder(this.#dataFolder);
  }

  /** Begins an export, a rollout and queued runs, lets `faults` happen to `victims`, and holds everything to account. */
  async row(victims: readonly Victim[], fault: Fault): Promise<RowResult> {
    const agent = await this.#agent();
    const refused = { count: 0 };
    // a worker lives for a second or two, and may have ended before the runs are queued
    const early: readonly Victim[] = victims.filter((victim) => victim === 'export-worker');
    const [work] = await Promise.all([
      this.#begin(agent, refused),
      ...early.map((victim) => this.#strike(victim, fault)),
    ]);
    const late = victims.filter((victim) => !early.includes(victim));
    await Promise.all(late.map((victim) => this.#strike(victim, fault)));
    const startedMs = performance.now();
    const reasons: string[] = [];
    await Promise.all([
      this.#deployed(work.revisionId, reasons),
      this.#exported(work.exportId),
      work.acknowledged.then(async (runs) => expectDone(await this.#agent(), runs)),
    ]);
    await this.#expectExactExport(work.exportId);
    const acknowledged = (await work.acknowledged).length;
    if (acknowledged === 0) throw new Error('no run was acknowledged');
    if (this.platform.process.exitCode !== null) throw new Error('the platform ended');
    return { acknowledged, refused: refused.count, tookMs: performance.now() - startedMs, reasons };
  }

  /** Whether there was a process of it. */
  signal(victim: Victim, name: NodeJS.Signals): boolean {
    const pids = this.#pidsOf(victim);
    for (const pid of pids)
      try {
        process.kill(pid, name);
      } catch {
        // it ended between the listing and now
      }
    return pids.length > 0;
  }

  #pidsOf(victim: Victim): number[] {
    const root = this.platform.process.pid ?? 0;
    if (victim !== 'postgres') return programsBelow(root, victim).map(({ pid }) => pid);
    const masters = listProcesses().filter(
      ({ command }) => command.includes(this.#dataFolder) && /postgres/.test(command),
    );
    return masters.flatMap(({ pid }) => [pid, ...descendants(pid).map((child) => child.pid)]);
  }

  async #strike(victim: Victim, fault: Fault): Promise<void> {
    const name = fault.kind === 'kill' ? 'SIGKILL' : 'SIGSTOP';
    await waitFor(() => this.signal(victim, name), {
      what: `a process of ${victim}`,
      intervalMs: 50,
    });
    if (fault.kind === 'kill') return;
    await new Promise((resolve) => setTimeout(resolve, fault.ms)); // the time itself is the fault
    this.signal(victim, 'SIGCONT');
  }

  async #agent(): Promise<Client> {
    const apiUrl = await waitFor(async () => (await this.#now()).url ?? undefined, {
      what: 'the address of the agent',
    });
    const { apiKey } = this.platform.credentials;
    return new Client({ apiUrl, apiKey, callerOptions: { maxRetries: 0 } });
  }

  async #now(): Promise<Deployment> {
    const { body } = await this.rest.get<Deployment>(`/v2/deployments/${this.#deployment?.id}`);
    return body;
  }

  async #begin(agent: Client, refused: { count: number }): Promise<UnderWay> {
    const { rest } = this;
    const threads = await Promise.all(Array.from({ length: THREADS }, () => agent.threads.create()));
    const destinations = await rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    const projects = await rest.get<{ id: string }[]>('/sessions?name=many');
    const created = await rest.post<{ id: string }>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destinations.body[0]?.id,
      session_id: projects.body[0]?.id,
      start_time: `${DAY}T00:00:00Z`,
      end_time: '2026-03-02T00:00:00Z',
      format_version: 'v2_beta',
    });
    const changed = await rest.patch<Deployment>(`/v2/deployments/${this.#deployment?.id}`, {
      secrets: [{ name: 'COUNT', value: String(++this.#count) }],
    });
    if (created.status !== 200 || changed.status !== 200)
      throw new Error(`export: HTTP ${created.status}, deployment: HTTP ${changed.status}`);
    const ids = threads.map(({ thread_id: id }) => id);
    const before = await this.#enqueue(agent, ids, refused, 'before');
    // the others meet the fault on their way
    const acknowledged = this.#enqueue(agent, ids, refused, 'during').then((during) => [
      ...before,
      ...during,
    ]);
    return { exportId: created.body.id, revisionId: changed.body.latest_revision_id, acknowledged };
  }

  async #enqueue(
    agent: Client,
    threads: readonly string[],
    refused: { count: number },
    when: 'before' | 'during',
  ): Promise<readonly EnqueuedRun[]> {
    const acknowledged: EnqueuedRun[] = [];
    await Promise.all(
      threads.map(async (threadId, at) => {
        for (let run = 0; run < RUNS_PER_THREAD; run++) {
          const text = `row ${this.#count} caller ${at} ${when} ${run}`;
          try {
            const input = { messages: [{ role: 'user', content: text }] };
            const made = await agent.runs.create(threadId, 'agent', { input, multitaskStrategy: 'enqueue' });
            acknowledged.push({ threadId, runId: made.run_id, text });
          } catch {
            refused.count++; // nobody promised anything
          }
        }
      }),
    );
    return acknowledged;
  }

  async #deployed(revisionId: string, reasons: string[]): Promise<void> {
    const id = this.#deployment?.id;
    await until(`revision ${revisionId} to serve`, async () => {
      const { body } = await this.rest.get<{
        status: string;
        status_reason?: string;
        status_message?: string;
      }>(`/v2/deployments/${id}/revisions/${revisionId}`);
      const reason = body.status_reason ?? '';
      if (reason !== '' && reasons.at(-1) !== reason) reasons.push(reason);
      if (body.status === 'DEPLOY_FAILED')
        throw new FinalError(`the revision failed: ${reason}: ${body.status_message}`);
      return body.status === 'DEPLOYED' && (await this.#now()).active_revision_id === revisionId;
    });
  }

  async #exported(exportId: string): Promise<void> {
    await until('the export', async () => {
      const { body } = await this.rest.get<{ status: string; status_message?: string }>(
        `/api/v1/bulk-exports/${exportId}`,
      );
      if (body.status === 'FAILED') throw new FinalError(`the export failed: ${body.status_message}`);
      return body.status === 'COMPLETED';
    });
  }

  async #expectExactExport(exportId: string): Promise<void> {
    const { objectStore, tenantId } = this.platform.credentials;
    const client = storeClient(objectStore);
    const all = await listKeys(client, objectStore.bucket, '');
    const keys = all.filter((key) => key.includes(`export_id=${exportId}/tenant_id=${tenantId}/`));
    const rows = await duckdb(await download(client, objectStore.bucket, keys), 'SELECT id FROM FILES');
    const found = new Set(rows.map((row) => row.id));
    const missing = [...this.#sent].filter((id) => !found.has(id));
    if (rows.length !== this.#sent.size || missing.length > 0)
      throw new Error(
        `the export has ${rows.length} rows for ${this.#sent.size}; ${missing.length} are missing`,
      );
  }
}

/** What waiting longer cannot mend. */
class FinalError extends Error {
  override readonly name = 'FinalError';
}

async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  const outcome = await waitFor(
    () =>
      ask().catch((error: unknown) => {
        if (error instanceof FinalError) return error;
        throw error;
      }),
    { what, timeoutMs: RECOVERED_MS, intervalMs: 300 },
  );
  if (outcome instanceof FinalError) throw outcome;
}
