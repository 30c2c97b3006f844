import { waitFor } from '#lib/testing';
import { download, duckdb, listKeys, storeClient } from './export-reader.js';
import type { Credentials } from './platform.js';
import type { Rest } from './rest.js';

const DAYS = 60;
const RUNS_A_DAY = 50;
/** The longest pause before an export's next attempt, some times over. */
const EXPORTED_MS = 300_000;

/** A project with runs on sixty days: an export of sixty runs, which a fault finds at work. */
export class DaysProject {
  private constructor(
    private readonly rest: Rest,
    readonly id: string,
    readonly runs: readonly string[],
  ) {}

  /** Ingests it. */
  static async make(rest: Rest): Promise<DaysProject> {
    const ids: string[] = [];
    for (let day = 0; day < DAYS; day++) {
      const post = Array.from({ length: RUNS_A_DAY }, (_unused, at) => {
        const id = `00000000-0000-4000-8000-${String((day + 1) * 1000 + at).padStart(12, '0')}`;
        const date = new Date(Date.UTC(2026, 2, 1 + day)).toISOString().slice(0, 10);
        const time = `${date}T10:00:00.${String(at).padStart(6, '0')}Z`;
        ids.push(id);
        return {
          id,
          trace_id: id,
          dotted_order: `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}`,
          name: 'day',
          run_type: 'chain',
          session_name: 'days',
          start_time: time,
          end_time: time,
          inputs: { at },
          outputs: {},
        };
      });
      const { status } = await rest.post('/runs/batch', { post, patch: [] });
      if (status !== 202) throw new Error(`POST /runs/batch answered ${status}`);
    }
    const { body } = await rest.get<{ id: string }[]>('/sessions?name=days');
    return new DaysProject(rest, body[0]?.id ?? '', ids);
  }

  /** Begins an export of all of it to the only destination; its id. */
  async beginExport(): Promise<string> {
    const destinations = await this.rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    const { status, body } = await this.rest.post<{ id: string }>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destinations.body[0]?.id,
      session_id: this.id,
      start_time: '2026-03-01T00:00:00Z',
      end_time: '2026-04-30T00:00:00Z',
    });
    if (status !== 200) throw new Error(`POST /api/v1/bulk-exports answered ${status}`);
    return body.id;
  }

  /** Waits until an export is complete and reads the sorted ids in its files, each as often as it stands there. */
  async readExport(id: string, store: Credentials['objectStore']): Promise<readonly unknown[]> {
    await this.awaitExport(id);
    const client = storeClient(store);
    const keys = (await listKeys(client, store.bucket, '')).filter((key) => key.includes(id));
    const rows = await duckdb(await download(client, store.bucket, keys), 'SELECT id FROM FILES ORDER BY id');
    return rows.map((row) => row.id);
  }

  /** Waits until an export is complete. */
  async awaitExport(id: string): Promise<void> {
    const status = await waitFor(
      async () => {
        const { body } = await this.rest.get<{ status: string }>(`/api/v1/bulk-exports/${id}`);
        return ['COMPLETED', 'FAILED', 'TIMEDOUT', 'CANCELLED'].includes(body.status) && body.status;
      },
      { what: 'the export to end', timeoutMs: EXPORTED_MS },
    );
    if (status !== 'COMPLETED') throw new Error(`the export ended as ${status}`);
  }
}
