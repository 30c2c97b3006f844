import { fromHost, parseFromHost } from './messages.js';

const LONG = 'a'.repeat(17_000_000);

describe('fromHost', () => {
  it('refuses a head that the server would not read', () => {
    const said = /^the head of a message "(event|refused)" has 170000\d\d characters; the limit is 16777216$/;
    expect(() => fromHost({ kind: 'event', event: LONG })).toThrow(said);
    expect(() => fromHost({ kind: 'refused', message: LONG })).toThrow(said);
  });

  it('makes heads that the server reads', () => {
    const { head, kind } = fromHost({ kind: 'event', event: LONG.slice(0, 16_000_000) });
    expect(parseFromHost({ id: 0, kind, head, body: Buffer.alloc(0) }).message.kind).toBe('event');
  });
});
