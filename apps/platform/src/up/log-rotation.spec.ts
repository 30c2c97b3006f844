import { spawn } from 'node:child_process';
import { existsSync, openSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { LogRotation } from './child.js';

const MIB = 1024 ** 2;

describe('the logs of the programs', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'api.log');

  it('begins a new file when one is long, while its program goes on writing', async () => {
    writeFileSync(join(folder, 'other.log'), 'short\n');
    writeFileSync(path, 'first line\n');
    // as the supervisor starts programs: the file is theirs, opened for appending
    const child = spawn('cat', { stdio: ['pipe', openSync(path, 'a'), 'ignore'] });
    const clock = new FakeClock();
    const rotation = new LogRotation(folder, clock, createLogger('test', 'silent'));
    rotation.start();
    expect(existsSync(`${path}.1`)).toBe(false);
    truncateSync(path, 17 * MIB);
    // the audit log sees to its own files
    const audit = join(folder, 'audit-api.log');
    writeFileSync(audit, '');
    truncateSync(audit, 17 * MIB);
    await clock.advance(61_000);
    expect(readFileSync(`${path}.1`, 'utf8').startsWith('first line\n')).toBe(true);
    child.stdin?.write('next line\n');
    await waitFor(() => readFileSync(path, 'utf8') === 'next line\n');
    expect(statSync(audit).size).toBe(17 * MIB);
    expect(statSync(join(folder, 'other.log')).size).toBe(6);
    child.stdin?.end();
    await rotation.stop();
    expect(clock.pending).toBe(0);
  });
});
