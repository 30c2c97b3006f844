import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { endProcess, findProcess, isRunning, ownIdentity, type ProcessIdentity } from '#lib/process-identity';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { endStrays } from './end-strays.js';
import { NODE_MARKER } from './process-status.js';

const folder = temporaryFolder();
const log = createLogger('test', 'silent');

function sleeper(environment: Record<string, string> = {}): ProcessIdentity {
  const child = spawn('sleep', ['1000'], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env.PATH ?? '', ...environment },
  });
  child.unref();
  const identity = findProcess(child.pid ?? 0);
  if (!identity) throw new Error('the sleeper is not there');
  return identity;
}

describe('endStrays', () => {
  it('ends recorded and marked processes and no others', async () => {
    const pods = join(folder, 'pods');
    mkdirSync(join(pods, 'uid'), { recursive: true });
    const recorded = sleeper();
    const marked = sleeper({ [NODE_MARKER]: pods });
    const stranger = sleeper({ [NODE_MARKER]: `${pods}-of-another` });
    const record = (name: string, text: string): void =>
      writeFileSync(join(pods, 'uid', `${name}.process.json`), text);
    record('main', JSON.stringify(recorded));
    record('reused', JSON.stringify({ ...ownIdentity(), startedAt: 'before the last boot' }));
    record('torn', '{"pid":');
    expect(await endStrays(pods, { clock: systemClock, log })).toEqual([]);
    expect([recorded, marked, stranger].map(isRunning)).toEqual([false, false, true]);
    process.kill(stranger.pid, 'SIGKILL');
  });

  it('ends the others beside one that does not end, and names that one with its pod', async () => {
    const pods = join(folder, 'stubborn');
    const [stubborn, other, marked] = [
      sleeper({ [NODE_MARKER]: pods }),
      sleeper(),
      sleeper({ [NODE_MARKER]: pods }),
    ];
    for (const [uid, identity] of Object.entries({ first: stubborn, second: other })) {
      mkdirSync(join(pods, uid), { recursive: true });
      writeFileSync(join(pods, uid, 'main.process.json'), JSON.stringify(identity));
    }
    const asked: number[] = [];
    const end: typeof endProcess = (identity, options) => {
      asked.push(identity.pid);
      return identity.pid === stubborn.pid
        ? Promise.reject(new Error('it still exists'))
        : endProcess(identity, options);
    };

    const left = await endStrays(pods, { clock: systemClock, log, end });

    expect(left).toEqual([{ ...stubborn, podUid: 'first' }]);
    expect(asked.sort()).toEqual([stubborn, other, marked].map(({ pid }) => pid).sort());
    expect([stubborn, other, marked].map(isRunning)).toEqual([true, false, false]);
    process.kill(stubborn.pid, 'SIGKILL');
  });
});
