import { spawn } from 'node:child_process';
import { systemClock } from '#lib/time';
import {
  endProcess,
  findProcess,
  findProgram,
  findStartTime,
  isRunning,
  ownIdentity,
} from './process-identity.js';

describe('process identity', () => {
  it('distinguishes this process from an ended one and from another with its pid', () => {
    const own = ownIdentity();
    expect(isRunning(own)).toBe(true);
    expect(isRunning({ ...own, startedAt: 'another boot/1' })).toBe(false);
    expect(findProcess(0x7fff_fff0)).toBeUndefined();
    expect(findProgram(process.pid)).toMatch(/node/);
    const age = Date.now() - (findStartTime(process.pid)?.getTime() ?? 0);
    expect(Math.abs(age - process.uptime() * 1000)).toBeLessThan(3_000);
  });

  it.each([
    ['a polite process', 'setInterval(() => {}, 1000)', 5_000],
    [
      'one that ignores the polite signal',
      'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)',
      300,
    ],
  ])('ends %s', async (_name, code, graceMs) => {
    const child = spawn(process.execPath, ['-e', `${code}; console.log("up")`], { detached: true });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const identity = findProcess(child.pid ?? 0);
    if (!identity) throw new Error('the child is not there');
    await endProcess(identity, { clock: systemClock, graceMs, group: true });
    expect(isRunning(identity)).toBe(false);
  });
});
