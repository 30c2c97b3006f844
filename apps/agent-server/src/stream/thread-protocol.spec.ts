import { addressOf, eventNameOf } from './thread-protocol.js';

describe('the name of an event', () => {
  it.each([
    ['custom:a|b é', ['sub:1', 'x|y']],
    ['values', []],
  ])('stands for the channel %s and its namespace', (channel, namespace) => {
    expect(addressOf(eventNameOf({ channel, namespace }))).toEqual({ channel, namespace });
  });

  it('exists for a channel that is named by half a character', () => {
    const name = eventNameOf({ channel: 'custom:a\ud800', namespace: ['\udfff'] });
    expect(addressOf(name)).toEqual({ channel: 'custom:a\ufffd', namespace: ['\ufffd'] });
  });
});
