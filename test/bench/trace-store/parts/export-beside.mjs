// How long a batch of 100 runs takes while an export reads their day, beside the same batches without one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { quantile } from '../../agent-server/numbers.mjs';
import { generatedRuns, MULTIPART, multipartBody, wholeRun } from '../generated-runs.mjs';

const DAY = '2026-10-02';
const STORED = 40_000;
const BATCHES = 150;
/** A batch begins so often, whether the one before has ended soon or late. */
const EVERY_MS = 100;

async function send(stand, runs) {
  const tookMs = [];
  for (let from = 0; from < runs.length; from += 100) {
    const body = multipartBody(runs.slice(from, from + 100).map(wholeRun));
    const began = performance.now();
    await stand.call('POST', '/runs/multipart', body, MULTIPART);
    const took = performance.now() - began;
    tookMs.push(took);
    await new Promise((later) => setTimeout(later, Math.max(0, EVERY_MS - took)));
  }
  return tookMs;
}

/** Reads all rows of the day over and over in a process of its own, as a worker does, until it is told to end. */
function startReader(stand, projectId) {
  const reader = spawn(process.execPath, [join(import.meta.dirname, '..', 'reader.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      CHECKOUT: stand.name,
      URI: stand.uri,
      TENANT: stand.tenant,
      PROJECT: projectId,
      DAY,
    },
  });
  return reader;
}

/** @param {readonly object[]} stands the first is measured */
export async function measureExportBeside([stand]) {
  const { call, store, tenant } = stand;
  const runs = [...generatedRuns({ count: STORED + 2 * BATCHES * 100, day: DAY, seed: 3 })];
  for (let from = 0; from < STORED; from += 500)
    await call(
      'POST',
      '/runs/multipart',
      multipartBody(runs.slice(from, from + 500).map(wholeRun)),
      MULTIPART,
    );
  const { id } = await store.projects.find(tenant, { name: 'bench' });
  const idle = await send(stand, runs.slice(STORED, STORED + BATCHES * 100));
  const reader = startReader(stand, id);
  await once(reader.stdout, 'data');
  const busy = await send(stand, runs.slice(STORED + BATCHES * 100));
  reader.kill('SIGTERM');
  const [before, during] = [idle, busy].map((took) => quantile(took, 0.99));
  for (const [what, took] of Object.entries({ idle, busy }))
    process.stdout.write(
      `  ${what}: p50 ${quantile(took, 0.5).toFixed(1)}, p99 ${quantile(took, 0.99).toFixed(1)} ms\n`,
    );
  return [
    {
      what: 'p99 of a batch of 100 runs while an export reads their day, of that without',
      unit: '×',
      ours: during / before,
      peers: {},
      least: { below: 3 },
      aim: { below: 1.5 },
    },
  ];
}
