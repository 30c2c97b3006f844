import { setImmediate } from 'node:timers/promises';
import { createLogger } from '#lib/telemetry';
import { canUseUpDescriptors, temporaryFolder, withoutDescriptors } from '#lib/testing';
import { systemClock } from '#lib/time';
import { FRAMES_FD, encodeFrames } from '../protocol/frame.js';
import { fromHost, type FromHost } from '../protocol/messages.js';
import { type ClaimedRun, RunInput } from '../store/row/claimed-run.js';
import { END } from '../log/logged-event.js';
import { GraphProcess, type GraphProcessParts } from './graph-process.js';
import { HostedExecution } from './hosted-execution.js';

const folder = temporaryFolder();

const ENDED = {
  kind: 'ended',
  end: { status: 'success', threadStatus: 'idle' },
  bodyChars: 2,
  values: 'none',
  interruptsChars: 0,
};

function hostThat(runs: string): GraphProcess {
  return new GraphProcess({
    order: { folder, maxTextBytes: 1_000_000 },
    program: {
      command: process.execPath,
      args: ['-e', runs],
      environment: {},
      instead: {},
    },
    ownUrl: new Promise<string>(() => undefined),
    clock: systemClock,
    log: createLogger('test', 'silent'),
  } as unknown as GraphProcessParts);
}

/** A host that sends bytes and computes from then on. */
function hostThatSends(bytes: Buffer): GraphProcess {
  const send = `require('node:fs').writeSync(${FRAMES_FD}, Buffer.from('${bytes.toString('hex')}', 'hex'))`;
  return hostThat(`${send}; for (;;);`);
}

describe('GraphProcess', () => {
  it('has ended though a process that it started holds its pipes', async () => {
    const outlives = `const [pipes, end] = [['ignore', 'ignore', 2, ${FRAMES_FD}], 'setTimeout(() => 0, 60_000)'];
      const { pid } = require('node:child_process').spawn(process.execPath, ['-e', end], { stdio: pipes });
      process.stderr.write(String(pid), () => process.kill(process.pid, 'SIGKILL'))`;
    const end = String(await hostThat(outlives).ended);
    expect(end).toContain('SIGKILL');
    const [, pid] = /it wrote: (\d+)/.exec(end) ?? [];
    process.kill(Number(pid)); // throws for one that has ended
  });

  (canUseUpDescriptors ? it : it.skip)(
    'refuses to start without descriptors, and ends nothing else',
    async () => {
      expect(() => withoutDescriptors(() => hostThat(''))).toThrow('no file descriptors are left');
      await setImmediate(); // an 'error' without a listener would have ended this process
    },
  );

  it('takes a question back with the reason of its signal', async () => {
    const host = hostThat('setTimeout(() => 0, 60_000)');
    const late = new AbortController();
    const answer = host.ask('schemas', { graphId: 'a' }, late.signal);
    late.abort(new Error('late'));
    await expect(answer).rejects.toThrow('late');
    host.kill();
    await host.ended;
  });

  it.each([
    ['none', undefined],
    ['an unknown kind', { kind: 'done' }],
    ['no end', { kind: 'ended', bodyChars: 2, interruptsChars: 0, values: 'none' }],
    ['an unknown status', { ...ENDED, end: { status: 'toString', threadStatus: 'idle' } }],
    ['more characters than arrived', { ...ENDED, bodyChars: 3 }],
    ['an error without words', { ...ENDED, end: { ...ENDED.end, status: 'error', error: {} } }],
    ['a loss without a message', { kind: 'lost' }],
  ])('fails the run of an outcome that cannot be read, and kills the host: %s', async (_what, outcome) => {
    const host = hostThatSends(encodeFrames([fromHost({ kind: 'outcome', outcome } as FromHost, 1, '{}')]));
    const run = { runId: 'r', attempt: 1, input: new RunInput('{"metadata":{},"kwargs":{}}') };
    const shown: unknown[] = [];
    const sink = { isWanted: () => true, isAwaited: () => false, emit: (event: object) => shown.push(event) };
    const { ended } = host.begin(run as ClaimedRun, '{}', sink);
    const error = { error: 'OutcomeUnreadable', message: expect.stringContaining('its outcome has') };
    expect(await ended).toMatchObject({
      kind: 'ended',
      end: { status: 'error', threadStatus: 'error', error },
    });
    expect(shown).toEqual([{ event: 'error', data: expect.stringContaining('OutcomeUnreadable') }]);
    expect(String(await host.ended)).toContain('SIGKILL');
  });

  it('fails a run that its host hands back without a stop of the server, as its next attempt would begin at once', async () => {
    const back = fromHost({ kind: 'outcome', outcome: { kind: 'handed-back' } }, 1, '');
    const host = hostThatSends(encodeFrames([back]));
    const run = { runId: 'r', attempt: 1, input: new RunInput('{"metadata":{},"kwargs":{}}') };
    const shown: unknown[] = [];
    const execution = new HostedExecution(run as ClaimedRun, {
      enter: () => ({ host: Promise.resolve(host), leave: () => ({ isCharged: false }) }),
      sink: { isWanted: () => true, isAwaited: () => false, emit: (event) => void shown.push(event) },
      readInput: () => Promise.resolve(undefined),
      clock: systemClock,
    });
    const error = { error: 'OutcomeUnreadable', message: expect.stringContaining('without a stop') };
    const outcome = await execution.perform();
    host.kill();
    await host.ended;
    expect(outcome).toMatchObject({ kind: 'ended', end: { status: 'error', error } });
    expect(shown).toEqual([{ event: 'error', data: expect.stringContaining('OutcomeUnreadable') }]);
  });

  it.each([
    ['no frame', Buffer.alloc(64, 0xff)],
    ['a frame of an unknown kind', encodeFrames([{ kind: 250, id: 0, head: '{}', body: '' }])],
    ['a head that is no JSON', encodeFrames([{ kind: 1, id: 1, head: '{', body: '' }])],
    ['an event without a name', encodeFrames([{ kind: 4, id: 1, head: '{"event":1}', body: '{}' }])],
    [
      'an event that is called like the end',
      encodeFrames([fromHost({ kind: 'event', event: END }, 1, '{}')]),
    ],
  ])('kills a host that computes without end once it sends %s', async (_what, bytes) => {
    const host = hostThatSends(bytes);
    expect(String(await host.ended)).toContain('SIGKILL');
  });
});
