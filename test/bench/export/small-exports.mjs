// Exports of few rows on a whole platform: an hourly window of 1,000 runs, 200 exports at once, ninety empty days; and 600
// that wait beside 15 at work.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { costOf, processes, start } from '../platform-cost.mjs';

const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
const AT_ONCE = 200;
/** Exports of a workspace that are at work, and those that wait beside them. */
const AT_WORK = 15;
const WAITING = 600;
/** So many rows have a worker of their own. */
const ROWS_AT_WORK = 10_000;
const COUNTED_MS = 60_000;

/** Passes over exports that wait. */
const ACCEPTED = /controller="bulk-export",outcome="wait"/;
/** Requests that write an export or a run of it. */
const WRITES = /(?=.*verb="(?:create|patch|update)")(?=.*resource="bulkexport)/;

/** The sum of the counters of a program whose labels have the text. */
async function counted(address, name, labels) {
  const text = await (await fetch(address)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) && labels.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** @returns seconds and ratios, by name */
export async function measureSmallExports(repository, rounds = 3) {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
  const platform = await start(repository, folder);
  const { restUrl, apiKey, tenantId, metrics } = JSON.parse(
    readFileSync(join(folder, 'credentials.json'), 'utf8'),
  );
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
  const cpuMs = () => processes(folder, platform.pid).reduce((sum, { pid }) => sum + costOf(pid).cpuMs, 0);
  /**
   * Each export that ends is followed by another. @returns exports that end in a second while so many are unfinished, and the
   * CPU of all programs for one, once those that wait have been accepted
   */
  const throughput = async (beginOne, unfinished) => {
    const completed = () => counted(metrics.controller, 'agentplane_export_runs_total', /completed/);
    const waits = () => counted(metrics.controller, 'agentplane_reconcile_passes_total', ACCEPTED);
    const add = (count) => Promise.all(Array.from({ length: count }, beginOne));
    const before = { completed: await completed(), waits: await waits() };
    for (let n = 0; n < unfinished; n += AT_WORK) await add(AT_WORK);
    let [known, from] = [before.completed, undefined];
    for (;;) {
      await sleep(250);
      const now = await completed();
      const isSettled =
        now - before.completed >= AT_WORK && (await waits()) - before.waits >= unfinished - AT_WORK;
      if (!from && isSettled) from = { done: now, at: performance.now(), cpuMs: cpuMs() };
      if (from && performance.now() - from.at > COUNTED_MS)
        return {
          perSecond: (1000 * (now - from.done)) / (performance.now() - from.at),
          cpuMs: (cpuMs() - from.cpuMs) / (now - from.done),
        };
      await add(now - known);
      known = now;
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
    const costs = async () => ({
      cpuMs: cpuMs(),
      passes: await counted(metrics.controller, 'agentplane_reconcile_passes_total', /export/),
      writes: await counted(metrics.embedded, 'agentplane_kube_requests_total', WRITES),
    });
    const before = await costs();
    const many = await timed(async () => {
      const made = await Promise.all(Array.from({ length: AT_ONCE }, () => begin(few, ...hour)));
      for (const { id } of made) await ended(id);
    });
    const after = await costs();
    const each = Object.fromEntries(
      Object.entries(after).map(([name, value]) => [name, (value - before[name]) / AT_ONCE]),
    );
    const heavy = await ingest('heavy', ROWS_AT_WORK);
    const beginHeavy = () => begin(heavy, ...hour);
    const alone = await throughput(beginHeavy, AT_WORK);
    await sleep(COUNTED_MS / 4);
    const beside = await throughput(beginHeavy, AT_WORK + WAITING);
    return { hourly, ninety, many, each, waiting: { alone, beside } };
  } finally {
    await platform.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
