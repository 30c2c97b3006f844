/** Metrics are counted for a whole process. @own-process */
import { describe, expect, it } from '@jest/globals';
import { parseExposition } from '#lib/testing';
import { METRICS } from './catalogue.js';
import { metrics } from './metrics.js';
import type { Program } from './program.js';
import { renderMetrics } from './render-metrics.js';

const PROGRAM: Program = 'api';

async function scrape() {
  return parseExposition((await renderMetrics(PROGRAM)).text);
}

describe('the exposition of a program', () => {
  it('shows every metric that the catalogue gives the program, and no other of the platform', async () => {
    const families = await scrape();
    const own = Object.values(METRICS).filter(({ programs }) =>
      (programs as readonly Program[]).includes(PROGRAM),
    );
    const shown = [...families.keys()].filter((name) => name.startsWith('agentplane_'));
    expect(shown.sort()).toEqual(own.map(({ name }) => name).sort());
    for (const { name, help, kind } of own) expect(families.get(name)).toMatchObject({ help, type: kind });
  });

  it('shows the process metrics of prom-client under their own names', async () => {
    const families = await scrape();
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_heap_size_used_bytes',
    ])
      expect(families.get(name)?.samples[0]?.value).toBeGreaterThan(0);
    expect(families.has('nodejs_eventloop_lag_seconds')).toBe(false);
  });

  it('starts counters with closed labels at 0', async () => {
    expect((await scrape()).get('agentplane_ingest_operations_total')?.samples).toEqual([
      { name: 'agentplane_ingest_operations_total', labels: { kind: 'post' }, value: 0 },
      { name: 'agentplane_ingest_operations_total', labels: { kind: 'patch' }, value: 0 },
    ]);
  });

  it('adds up what was counted, set, read and observed', async () => {
    metrics.ingestBytes.add(10);
    metrics.ingestBytes.add(5);
    metrics.ingestOperations.add(2, { kind: 'patch' });
    metrics.httpRequestDuration.observe(0.02, { method: 'GET', route: '/runs/:id', status_class: '2xx' });
    metrics.httpRequestDuration.observe(100, { method: 'GET', route: '/runs/:id', status_class: '2xx' });
    const ends = [3, 4].map((value) => metrics.ingestWaitingPatches.read(() => Promise.resolve(value)));
    const families = await scrape();
    expect(families.get('agentplane_ingest_bytes_total')?.samples[0]?.value).toBe(15);
    expect(families.get('agentplane_ingest_waiting_patches')?.samples[0]?.value).toBe(4);
    const durations = families.get('agentplane_http_request_duration_seconds')?.samples ?? [];
    const labels = { method: 'GET', route: '/runs/:id', status_class: '2xx' };
    expect(durations).toContainEqual({
      name: 'agentplane_http_request_duration_seconds_bucket',
      labels: { ...labels, le: '0.025' },
      value: 1,
    });
    expect(durations.at(-1)).toEqual({
      name: 'agentplane_http_request_duration_seconds_count',
      labels,
      value: 2,
    });
    for (const end of ends) end();
  });

  it('leaves out a gauge whose reader fails', async () => {
    const end = metrics.ingestWaitingPatches.read(() => Promise.reject(new Error('no database')));
    expect((await scrape()).get('agentplane_ingest_waiting_patches')?.samples).toEqual([]);
    end();
  });
});
