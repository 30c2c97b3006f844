import { parseExposition } from './exposition.js';
import { type Look, Pulse } from './pulse.js';

function look(atMs: number, requests: number, more: Partial<Look> = {}): Look {
  const text = [
    '# HELP agentplane_http_request_duration_seconds Time of requests.',
    `agentplane_http_request_duration_seconds_count{route="/runs",method="GET"} ${requests}`,
    `agentplane_http_request_duration_seconds_count{route="/ok",method="GET"} ${requests}`,
    'agentplane_agent_runs_queued 7',
    'process_resident_memory_bytes 104857600',
  ].join('\n');
  const programs = new Map([
    ['api', parseExposition(text)],
    ['controller', parseExposition('agentplane_agent_runs_queued 7\nprocess_resident_memory_bytes 52428800')],
  ]);
  return { atMs, programs, silent: [], warnings: [], disk: undefined, ...more };
}

describe('Pulse', () => {
  it('makes rates of counters, over all their labels', () => {
    const pulse = new Pulse();
    expect(pulse.take(look(0, 10)).join('\n')).toMatch(/requests +0\.0\/s/);
    expect(pulse.take(look(2_000, 30)).join('\n')).toMatch(/requests +20\/s +▁█/);
  });

  it('takes a counter that began again for no growth', () => {
    const pulse = new Pulse();
    pulse.take(look(0, 100));
    expect(pulse.take(look(1_000, 5)).join('\n')).toMatch(/requests +0\.0\/s/);
  });

  it('counts once what every program reports alike', () => {
    expect(new Pulse().take(look(0, 1)).join('\n')).toMatch(/runs queued +7 /);
  });

  it('lists the memory of programs, the largest first, the disk and who is silent', () => {
    const disk = { usedBytes: 75e9, allBytes: 100e9 };
    const text = new Pulse().take(look(0, 1, { disk, silent: ['listener-0'] })).join('\n');
    expect(text).toMatch(/memory of 2 programs: 157 MB\n +api +105 MB +█+\n +controller +52\.4 MB +█+░+/);
    expect(text).toMatch(/disk: 25\.0 GB free +█{18}░{6} 75 %/);
    expect(text).toContain('did not answer: listener-0');
  });

  it('lists what is open, below everything else', () => {
    const warnings = ['node/here: agents share a user'];
    expect(new Pulse().take(look(0, 1, { warnings })).slice(-3)).toEqual([
      '',
      'warnings:',
      '  node/here: agents share a user',
    ]);
  });

  it('leaves out what no program reports', () => {
    expect(new Pulse().take(look(0, 1)).join('\n')).not.toContain('exported');
  });
});
