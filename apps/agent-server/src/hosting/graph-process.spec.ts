import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { FRAMES_FD } from '../protocol/descriptors.js';
import { encodeFrames } from '../protocol/frame.js';
import { GraphProcess, type GraphProcessParts } from './graph-process.js';

const folder = temporaryFolder();

/** A host that sends bytes and computes from then on. */
function hostThatSends(bytes: Buffer): GraphProcess {
  const send = `require('node:fs').writeSync(${FRAMES_FD}, Buffer.from('${bytes.toString('hex')}', 'hex'))`;
  return new GraphProcess({
    order: { folder, maxTextBytes: 1_000_000 },
    program: {
      ...{ command: process.execPath, args: ['-e', `${send}; for (;;);`] },
      ...{ environment: {}, instead: {} },
    },
    ownUrl: new Promise<string>(() => undefined),
    ...{ clock: systemClock, log: createLogger('test', 'silent') },
  } as unknown as GraphProcessParts);
}

describe('GraphProcess', () => {
  it.each([
    ['no frame', Buffer.alloc(64, 0xff)],
    ['a frame of an unknown kind', encodeFrames([{ kind: 250, id: 0, head: '{}', body: '' }])],
    ['a head that is no JSON', encodeFrames([{ kind: 1, id: 1, head: '{', body: '' }])],
  ])('kills a host that computes without end once it sends %s', async (_what, bytes) => {
    const host = hostThatSends(bytes);
    expect(String(await host.ended)).toContain('SIGKILL');
  });
});
