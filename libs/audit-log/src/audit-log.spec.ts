import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
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
    const audit = new AuditLog({ path, log, clock: systemClock, maxBytes: 400, maxFiles: 3 });
    for (let n = 0; n < 20; n++) audit.write(record(`n${n}`));
    audit.close();
    expect(readdirSync(own).sort()).toEqual(['audit.log', 'audit.log.1', 'audit.log.2']);
    const kept = ['audit.log.2', 'audit.log.1', 'audit.log'].flatMap((name) => namesIn(join(own, name)));
    expect(kept.at(-1)).toBe('n19');
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, n) => `n${20 - kept.length + n}`));
    for (const name of readdirSync(own)) expect(statSync(join(own, name)).size).toBeLessThanOrEqual(400);
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
