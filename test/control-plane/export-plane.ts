import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect } from '@jest/globals';
import pg from 'pg';
import type { FaultHook } from '#lib/embedded-object-store';
import {
  type BulkExport,
  type BulkExportRun,
  type BulkExportSpec,
  idOf,
  type Job,
  JOBS,
  LABEL,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import { temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, SYSTEM, testControlPlane } from './control-plane.js';
import { WorkerNode } from './worker-node.js';

/** A run that is to be stored. */
export interface StoredRun {
  readonly start_time: string;
  readonly id?: string;
  readonly name?: string;
}

type Variables = Readonly<Record<string, string>>;

/** Variables of the programs of a plane. */
interface PlaneVariables {
  readonly controller?: Variables;
  readonly api?: Variables;
  readonly node?: Variables;
}

/**
 * What specs of exports share: a control plane with REST, a node on which export workers are processes, and the store
 * that they write to. To be made where `describe` is; it starts and stops with the tests.
 */
export class ExportPlane {
  #plane: ControlPlane | undefined;
  #node: WorkerNode | undefined;
  #sql: pg.Client | undefined;
  #url = '';
  #key = '';
  readonly #folder = temporaryFolder();
  /** The API server. */
  readonly server = testEmbeddedKube();

  /** @param programs variables of each; those of the node reach its workers */
  constructor({ controller = {}, api = {}, node = {} }: PlaneVariables = {}) {
    const start = testControlPlane(this.server, this.#folder);
    beforeAll(async () => {
      this.#plane = await start({ isForExports: true, controller, api });
      this.#sql = new pg.Client({ connectionString: this.plane.databaseUri });
      // the server may stop first
      this.#sql.on('error', () => undefined);
      await this.#sql.connect();
      this.#url = await this.plane.startApi();
      const { tenantId, traces } = this.plane;
      ({ key: this.#key } = await traces.apiKeys.mint(tenantId, { name: 'test', scope: 'workspace' }));
      this.#node = new WorkerNode(this.plane, node);
    });
    afterAll(async () => {
      await this.#node?.stop();
      await this.#sql?.end();
      await this.#plane?.stop();
    });
  }

  get plane(): ControlPlane {
    return started(this.#plane);
  }

  get node(): WorkerNode {
    return started(this.#node);
  }

  /** Of a superuser, to the trace store. */
  get sql(): pg.Client {
    return started(this.#sql);
  }

  set fault(fault: FaultHook | undefined) {
    this.plane.fault = fault;
  }

  at(name: string): { readonly namespace: string; readonly name: string } {
    return { namespace: NAMESPACE, name };
  }

  async rest<T>(
    path: string,
    method = 'GET',
    headers: Readonly<Record<string, string>> = {},
    body?: object,
  ): Promise<{ readonly status: number; readonly body: T }> {
    const response = await fetch(`${this.#url}/api/v1/bulk-exports${path}`, {
      method,
      headers: {
        'x-api-key': this.#key,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  export(name: string): Promise<BulkExport> {
    return this.plane.client.get(RESOURCES.BulkExport, this.at(name));
  }

  /** In order of their days. */
  async runs(name: string): Promise<readonly BulkExportRun[]> {
    const { items } = await this.plane.client.list(RESOURCES.BulkExportRun, { namespace: NAMESPACE });
    return items
      .filter(({ spec }) => spec.exportName === name)
      .sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime));
  }

  async jobs(name: string): Promise<readonly Job[]> {
    const selection = { namespace: SYSTEM, labelSelector: `${LABEL.export}=${name}` };
    return (await this.plane.client.list(JOBS, selection)).items;
  }

  /** Names of Secrets of attempts. */
  async secrets(name: string): Promise<readonly string[]> {
    const selection = { namespace: SYSTEM, labelSelector: `${LABEL.export}=${name}` };
    return (await this.plane.client.list(SECRETS, selection)).items.map(({ metadata }) => metadata.name);
  }

  /** @returns the id of the project, which has these runs now */
  async add(project: string, runs: readonly StoredRun[]): Promise<string> {
    const { tenantId, traces } = this.plane;
    const post = runs.map((more) => ({
      run: Buffer.from(
        JSON.stringify({ id: randomUUID(), run_type: 'chain', name: 'r', session_name: project, ...more }),
      ),
      fields: { inputs: Buffer.from('{}') },
    }));
    if (post.length > 0) expect((await traces.ingest(tenantId, { post, patch: [] })).refused).toEqual([]);
    return (await traces.projects.ensure(tenantId, project)).id;
  }

  /** Makes an export to the store of the plane. */
  async begin(
    name: string,
    projectId: string,
    window: { readonly startTime: string; readonly endTime: string },
    more: Partial<BulkExportSpec> = {},
  ): Promise<void> {
    const spec = {
      destinationRef: { name: 'local' },
      tracingProject: { id: projectId },
      formatVersion: 'v2_beta',
      ...window,
      ...more,
    };
    await this.plane.client.create(RESOURCES.BulkExport, {
      metadata: this.at(name),
      spec: spec as BulkExportSpec,
    });
  }

  /** Sorted ids of the runs in the files of an export. */
  async exportedIds(name: string): Promise<readonly string[]> {
    const folder = join(this.#folder, 'store', 'exports', `export_id=${idOf(await this.export(name))}`);
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    const files = names.filter((one) => one.endsWith('.parquet')).map((one) => `'${join(folder, one)}'`);
    if (files.length === 0) return [];
    const connection = await (await DuckDBInstance.create()).connect();
    try {
      const sql = `SELECT id FROM read_parquet([${files.join(', ')}], hive_partitioning = false) ORDER BY id`;
      return (await connection.runAndReadAll(sql)).getRowObjectsJson().map((row) => String(row['id']));
    } finally {
      connection.closeSync();
    }
  }

  /** Sorted ids of the runs that a project has. */
  async storedIds(projectId: string): Promise<readonly string[]> {
    const text = 'SELECT id FROM runs WHERE project_id = $1 ORDER BY id';
    const { rows } = await this.sql.query<{ id: string }>(text, [projectId]);
    return rows.map(({ id }) => id);
  }

  /** Days of an export that have a manifest. */
  async manifests(name: string): Promise<readonly string[]> {
    const id = idOf(await this.export(name));
    const folder = join(this.#folder, 'store', 'exports', 'manifests', `export_id=${id}`, 'runs');
    return (await readdir(folder).catch(() => [])).map((file) => file.replace('.json', '')).sort();
  }

  /** Open multipart uploads, of all exports. */
  async uploads(): Promise<readonly string[]> {
    return await readdir(join(this.#folder, 'store', '.store/uploads', 'exports')).catch(() => []);
  }

  /**
   * Waits until nothing of an export is left outside of its own objects. A worker that was stopped has a minute to end,
   * and what it left is looked for once a minute.
   */
  async cleared(name: string): Promise<void> {
    await waitFor(async () => (await this.jobs(name)).length + (await this.secrets(name)).length === 0, {
      timeoutMs: 200_000,
      what: `Jobs and Secrets of ${name} to be deleted`,
    });
  }
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the plane has not started yet');
  return part;
}
