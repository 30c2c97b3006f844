import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { loadApiConfig } from '../config.js';
import { testApi } from '../testdata/test-api.js';

const FORWARDED = {
  'x-forwarded-for': '203.0.113.9, 10.1.2.3',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'agents.example:8443',
};

const folder = temporaryFolder();

describe.each<[string, readonly string[] | undefined, string, string]>([
  ['one that is trusted', ['127.0.0.0/8', '10.0.0.0/8'], '203.0.113.9', 'https://agents.example:8443'],
  ['one of two that are', ['127.0.0.1'], '10.1.2.3', 'https://agents.example:8443'],
  ['one that is not', ['10.0.0.0/8'], '127.0.0.1', 'http://127.0.0.1'],
  ['one where none is', undefined, '127.0.0.1', 'http://127.0.0.1'],
])('a request through %s', (name, trustedProxies, address, origin) => {
  const auditPath = join(folder, name, 'audit-api.log');
  const { api, tenant } = testApi({ auditPath, ...(trustedProxies ? { trustedProxies } : {}) });

  it(`counts as one from ${address} to ${origin}`, async () => {
    const project = await tenant.call('POST', '/sessions', { name: 'p' }, FORWARDED);
    expect(project.status).toBe(200);
    const file = join(folder, name, 'audit-api', `${tenant.tenantId}.log`);
    const line = readFileSync(file, 'utf8').trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(line)).toMatchObject({ source: { address } });
    const run = crypto.randomUUID();
    await tenant.call('POST', '/runs', {
      id: run,
      trace_id: run,
      name: 'r',
      run_type: 'chain',
      session_name: 'p',
      start_time: new Date().toISOString(),
      dotted_order: `${stamp()}Z${run}`,
      inputs: {},
    });
    const body = { run_id: run, feedback_key: 'k' };
    const { json } = await tenant.call('POST', '/feedback/tokens', body, FORWARDED);
    expect(json.url.startsWith(origin)).toBe(true);
    expect(api.url).toContain('127.0.0.1');
  });
});

function stamp(): string {
  return `${new Date().toISOString().replaceAll(/[-:]|\.\d+Z/g, '')}000000`;
}

describe('AGENTPLANE_TRUSTED_PROXIES', () => {
  const load = (text: string): readonly string[] | undefined =>
    loadApiConfig({ AGENTPLANE_DATABASE_URI: 'x', AGENTPLANE_TRUSTED_PROXIES: text }).trustedProxies;

  it('takes addresses and networks', () => {
    expect(load('10.0.0.5, fd00::/8')).toEqual(['10.0.0.5', 'fd00::/8']);
  });

  it.each(['true', '10.0.0.0/33', '10.0.0.0/', '1.2.3.4/0', 'proxy.example'])('refuses %s', (text) => {
    expect(() => load(text)).toThrow('must be addresses or networks');
  });
});
