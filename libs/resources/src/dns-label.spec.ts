import fc from 'fast-check';
import { dnsLabel } from './dns-label.js';

describe('dnsLabel', () => {
  it.each([
    ['a usable name stays', 'my-agent', /^my-agent$/],
    ['upper case is lowered and marked', 'My-Agent', /^my-agent-[0-9a-f]{6}$/],
    ['blanks become dashes', 'my agent', /^my-agent-[0-9a-f]{6}$/],
    ['a label begins with a letter', '1st', /^st-[0-9a-f]{6}$/],
    ['a name without a usable character still has a label', '日本', /^x-[0-9a-f]{6}$/],
    ['a long name is cut', 'a'.repeat(80), /^a{50}-[0-9a-f]{6}$/],
    ['a name that looks marked is marked itself', 'agent-abc123', /^agent-abc123-[0-9a-f]{6}$/],
  ])('%s', (_, name, expected) => {
    expect(dnsLabel(name)).toMatch(expected);
  });

  it('makes a label that a Service and its revisions can be named after, always the same', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 200 }), (name) => {
        const label = dnsLabel(name);
        expect(label).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/);
        expect(label.length).toBeLessThanOrEqual(57);
        expect(dnsLabel(name)).toBe(label);
      }),
    );
  });

  it('keeps names apart that differ only in what a label cannot say', () => {
    const names = ['my agent', 'my-agent', 'My-agent', 'my_agent', 'my--agent', ' my-agent'];
    expect(new Set(names.map(dnsLabel)).size).toBe(names.length);
  });

  it('never gives a name the label of another', () => {
    const taken = dnsLabel('My Agent');
    expect(dnsLabel(taken)).not.toBe(taken);
  });
});
