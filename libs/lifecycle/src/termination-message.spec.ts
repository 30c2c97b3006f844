import { formatTerminationMessage, readTerminationMessage } from './termination-message.js';

describe('a termination message', () => {
  it('gives back the message that was written', () => {
    const text = formatTerminationMessage({ reason: 'GraphLoadFailed', message: 'graph "a" failed to load' });
    expect(readTerminationMessage(text)).toBe('graph "a" failed to load');
  });
  it('stays below the length at which Kubernetes cuts it', () => {
    const text = formatTerminationMessage({ reason: 'GraphLoadFailed', message: 'x'.repeat(10_000) });
    expect(text.length).toBeLessThan(4096);
    expect(readTerminationMessage(text)).toHaveLength(3000);
  });
  it.each(['plain text', '{"cut', 'null', '7', '{"message":7}'])('reads %j as a plain text', (text) => {
    expect(readTerminationMessage(text)).toBe(text);
  });
});
