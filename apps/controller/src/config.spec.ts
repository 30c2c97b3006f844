import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '#lib/config';
import { CONFIG } from './config.js';

describe('settings of builds', () => {
  const { npmRegistry, pythonIndex } = CONFIG;
  const load = (value: string) => loadConfig({ npmRegistry, pythonIndex }, { [pythonIndex.env]: value });

  it('takes the address of an index', () => {
    expect(load('https://packages.example.org/simple/').pythonIndex).toBe(
      'https://packages.example.org/simple/',
    );
  });

  it.each([
    'https://ann:hidden@packages.example.org/simple',
    'https://hidden@packages.example.org/simple',
    'https://packages.example.org/simple?token=hidden',
    'hidden',
  ])('refuses %s, which commands of builds could read, and does not repeat it', (value) => {
    const found = (() => {
      try {
        return load(value);
      } catch (error) {
        return error;
      }
    })();
    expect(found).toBeInstanceOf(ConfigError);
    expect(String(found)).toContain(
      'AGENTPLANE_BUILD_PYTHON_INDEX must be an http or https URL without a name',
    );
    expect(String(found)).not.toContain('hidden');
  });
});
