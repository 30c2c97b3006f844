import { flag, integer, list, text, url } from './field.js';
import { type ConfigError, loadConfig } from './load-config.js';

const FIELDS = {
  endpoint: url('ENDPOINT', 'where to send'),
  timeoutMs: integer('TIMEOUT_MS', 'patience in milliseconds', { fallback: 500, min: 1 }),
  password: text('PASSWORD', 'the password', { secret: true }),
  verbose: flag('VERBOSE', 'say more', { fallback: false }),
  namespaces: list('NAMESPACES', 'where to work', { fallback: [] }),
};

describe('loadConfig', () => {
  it('parses, applies defaults and freezes', () => {
    const config = loadConfig(FIELDS, { ENDPOINT: 'http://127.0.0.1:1/', PASSWORD: 'x', NAMESPACES: 'a, b' });
    expect(config).toEqual({
      endpoint: 'http://127.0.0.1:1',
      timeoutMs: 500,
      password: 'x',
      verbose: false,
      namespaces: ['a', 'b'],
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('names every problem at once', () => {
    const problems = (() => {
      try {
        loadConfig(FIELDS, { ENDPOINT: 'ftp://x', TIMEOUT_MS: '0', VERBOSE: 'yes' });
      } catch (error) {
        return (error as ConfigError).problems;
      }
    })();
    expect(problems).toEqual([
      'ENDPOINT must be an absolute http or https URL',
      'TIMEOUT_MS must be a whole number from 1 to 9007199254740991, but is "0"',
      'PASSWORD is missing: the password',
      'VERBOSE must be true or false, but is "yes"',
    ]);
  });
});
