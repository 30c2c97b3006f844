import { addressOf, eventNameOf } from './thread-protocol.js';

describe('the name of an event', () => {
  it.each([
    ['custom:a|b é', ['sub:1', 'x|y']],
    ['values', []],
  ])('stands for the channel %s and its namespace', (channel, namespace) => {
    expect(addressOf(eventNameOf({ channel, namespace }))).toEqual({ channel, namespace });
  });

  it.each(['protocol/%', 'protocol/values|%E0%A4%A', 'protocol/%ff'])(
    'stands for nothing where a graph has forged it: %s',
    (name) => expect(addressOf(name)).toBeUndefined(),
  );

  it.each(['__proto__', 'toString', 'constructor'])('stands for a channel that is called %s', (channel) => {
    expect(addressOf(`protocol/${channel}`)).toEqual({ channel, namespace: [] });
  });

  it('exists for a channel that is named by half a character', () => {
    const name = eventNameOf({ channel: 'custom:a\ud800', namespace: ['\udfff'] });
    expect(addressOf(name)).toEqual({ channel: 'custom:a\ufffd', namespace: ['\ufffd'] });
  });
});
