/** Metrics are counted for a whole process. @own-process */
import { describe, expect, it } from '@jest/globals';
import { renderMetrics } from '#lib/telemetry';
import { parseExposition, waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

describe('an observed request', () => {
  const api = testApi();
  const samples = async (name: string) =>
    parseExposition((await renderMetrics('embedded')).text).get(`agentplane_kube_${name}`)?.samples ?? [];

  it('returns the id of its caller, and a new one for an id that is not well-formed', async () => {
    const call = (id: string) => api.admin.call('GET', '/api/v1/pods', { headers: { 'x-request-id': id } });
    expect((await call('mine')).headers['x-request-id']).toBe('mine');
    expect((await call('not mine')).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('counts requests by verb, resource and status class, without what clients make up', async () => {
    await api.admin.get('/api/v1/namespaces/default/configmaps/missing');
    await api.admin.get('/apis/made.up/v1/secret-words');
    await api.admin.get('/version');
    const labels = (await samples('requests_total')).map((sample) => Object.values(sample.labels).join(' '));
    expect(labels).toContain('get configmaps 4xx');
    expect(labels).toContain('list unknown 4xx');
    expect(labels).toContain('get  2xx');
    expect(labels.join()).not.toMatch(/made|secret-words|missing/);
  });

  it('counts as an open watch until its client leaves', async () => {
    const open = async (): Promise<number> => (await samples('watches_open'))[0]?.value ?? NaN;
    const before = await open();
    const watch = api.admin.watch('/api/v1/configmaps?watch=true');
    await waitFor(async () => (await open()) === before + 1);
    watch.end();
    await waitFor(async () => (await open()) === before);
    expect((await samples('change_log_length'))[0]?.value).toBeGreaterThan(0);
  });
});
