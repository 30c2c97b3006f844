// Exports of few rows on a whole platform: an hourly window of 1,000 runs, 200 exports at once, ninety empty days.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '../platform-cost.mjs';

const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
const AT_ONCE = 200;

/** @returns seconds of each, by name */
export async function measureSmallExports(repository, rounds = 3) {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
  const platform = await start(repository, folder);
  const { restUrl, apiKey, tenantId } = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8'));
  const call = async (method, path, body) => {
    const answer = await fetch(restUrl + path, {
      method,
      headers: { 'x-api-key': apiKey, 'x-tenant-id': tenantId, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  /** Runs of an hour that has long ended. */
  const ingest = async (project, count) => {
    const post = Array.from({ length: count }, (_, n) => ({
      ...{
        id: randomUUID(),
        run_type: 'chain',
        name: 'r',
        session_name: project,
        inputs: { n },
        outputs: {},
      },
      start_time: new Date(Date.UTC(2026, 4, 1, 12) + n).toISOString(),
    }));
    for (let from = 0; from < count; from += 500)
      await call('POST', '/runs/batch', { post: post.slice(from, from + 500), patch: [] });
    for (;;) {
      const found = await call('GET', `/sessions?name=${project}`);
      const [{ id }] = found;
      return id;
    }
  };
  const ended = async (id) => {
    for (;;) {
      const found = await call('GET', `/api/v1/bulk-exports/${id}`);
      if (found.status === 'COMPLETED') return found;
      if (!['CREATED', 'RUNNING'].includes(found.status)) throw new Error(JSON.stringify(found));
      await sleep(25);
    }
  };
  try {
    const [{ id: destination }] = await call('GET', '/api/v1/bulk-exports/destinations');
    const begin = (session_id, start_time, end_time) =>
      call('POST', '/api/v1/bulk-exports', {
        ...{ bulk_export_destination_id: destination, session_id, start_time, end_time },
        format_version: 'v2_beta',
      });
    const timed = async (work) => {
      const began = performance.now();
      await work();
      return (performance.now() - began) / 1000;
    };
    const hour = ['2026-05-01T12:00:00Z', '2026-05-01T13:00:00Z'];
    const thousand = await ingest('hourly', 1000);
    await ended((await begin(thousand, ...hour)).id);
    const hourly = [];
    for (let round = 0; round < 2 * rounds + 1; round++)
      hourly.push(await timed(async () => ended((await begin(thousand, ...hour)).id)));
    const empty = await ingest('empty', 1);
    const ninety = await timed(async () =>
      ended((await begin(empty, '2026-01-01T00:00:00Z', '2026-04-01T00:00:00Z')).id),
    );
    const few = await ingest('few', 10);
    const many = await timed(async () => {
      const made = await Promise.all(Array.from({ length: AT_ONCE }, () => begin(few, ...hour)));
      for (const { id } of made) await ended(id);
    });
    return { hourly, ninety, many };
  } finally {
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
