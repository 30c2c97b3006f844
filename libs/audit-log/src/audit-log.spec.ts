import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { AuditLog, type AuditRecord } from './index.js';

const folder = temporaryFolder();
const log = createLogger('test', 'silent');
const record = (name: string): AuditRecord => ({
  program: 'api',
  request: 'r',
  actor: { kind: 'refused-key' },
  action: { verb: 'POST', target: '/sessions', name },
  source: {},
  outcome: { status: 200 },
});
const namesIn = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as AuditRecord).action.name ?? '');

describe('AuditLog', () => {
  it('appends lines to a file that only its owner reads', () => {
    const path = join(folder, 'mode.log');
    writeFileSync(path, '');
    chmodSync(path, 0o666);
    const audit = new AuditLog({ path, log, clock: systemClock });
    audit.write(record('one'));
    audit.write(record('two\nlines'));
    audit.close();
    expect(namesIn(path)).toEqual(['one', 'two\nlines']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = new AuditLog({ path, log, clock: systemClock });
    again.write(record('three'));
    again.close();
    expect(namesIn(path)).toHaveLength(3);
  });

  it('rotates by size and keeps the newest files', () => {
    const own = join(folder, 'rotated');
    mkdirSync(own);
    const path = join(own, 'audit.log');
    const audit = new AuditLog({ path, log, clock: systemClock, platform: { maxBytes: 400, maxFiles: 3 } });
    for (let n = 0; n < 20; n++) audit.write(record(`n${n}`));
    audit.close();
    expect(readdirSync(own).sort()).toEqual(['audit.log', 'audit.log.1', 'audit.log.2']);
    const kept = ['audit.log.2', 'audit.log.1', 'audit.log'].flatMap((name) => namesIn(join(own, name)));
    expect(kept.at(-1)).toBe('n19');
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, n) => `n${20 - kept.length + n}`));
    for (const name of readdirSync(own)) expect(statSync(join(own, name)).size).toBeLessThanOrEqual(400);
  });

  it('keeps the lines of one tenant whatever another does, and counts refusals beyond a budget', async () => {
    const own = join(folder, 'tenants');
    mkdirSync(own);
    const path = join(own, 'audit.log');
    const clock = new FakeClock();
    const few = { maxBytes: 2_000, maxFiles: 2 };
    const audit = new AuditLog({ path, log, clock, platform: few, owner: few });
    const refused = (name: string): AuditRecord => ({ ...record(name), outcome: { status: 403 } });
    audit.write(record('of the platform'));
    audit.write(record('of the victim'), 'victim');
    for (let n = 0; n < 1_000; n++) audit.write(record(`noise ${n}`), 'attacker');
    for (let n = 0; n < 1_000; n++) audit.write(refused(`refused ${n}`), 'system:serviceaccount:evil/../..');
    for (let n = 0; n < 40; n++) audit.write(record(`noise ${n}`), `tenant-${n}`);
    audit.write(refused('the first of the victim'), 'victim');
    expect(namesIn(path)).toEqual(['of the platform']);
    expect(namesIn(join(own, 'audit', 'victim.log'))).toEqual(['of the victim', 'the first of the victim']);
    expect(namesIn(join(own, 'audit', 'tenant-0.log'))).toEqual(['noise 0']);
    expect(statSync(join(own, 'audit')).mode & 0o777).toBe(0o700);
    expect(readdirSync(own).sort()).toEqual(['audit', 'audit.log']);
    const hashed = readdirSync(join(own, 'audit')).filter((name) => /^[0-9a-f]{32}\.log/.test(name));
    const of = (name: string): string => readFileSync(join(own, 'audit', name), 'utf8');
    expect(hashed.map(of).join('')).toContain('refused 299');
    expect(hashed.map(of).join('')).not.toContain('refused 300');
    await clock.advance(1_000);
    audit.write(refused('after a second'), 'system:serviceaccount:evil/../..');
    audit.close();
    const lines = of(hashed.find((name) => name.endsWith('.log')) ?? '')
      .trim()
      .split('\n')
      .slice(-2);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { time: expect.any(String), program: 'api', leftOut: { refusals: 700 } },
      expect.objectContaining({ action: expect.objectContaining({ name: 'after a second' }) }),
    ]);
  });

  it('drops records that cannot be written, and goes on once they can', () => {
    const missing = join(folder, 'later');
    const path = join(missing, 'audit.log');
    const audit = new AuditLog({ path, log, clock: systemClock });
    audit.write(record('lost'));
    mkdirSync(missing);
    audit.write(record('kept'));
    audit.close();
    expect(namesIn(path)).toEqual(['kept']);
  });
});
