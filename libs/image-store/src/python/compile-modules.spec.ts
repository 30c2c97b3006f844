import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { compileModules } from './compile-modules.js';

describe('compileModules', () => {
  const venv = temporaryFolder();
  const compile = (script: string): Promise<void> => {
    const path = join(venv, 'python');
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return compileModules({ path, version: '3.12.0' }, venv);
  };

  it('fails when the interpreter was killed, and not for what is no Python', async () => {
    await expect(compile('kill -9 $$')).rejects.toThrow(/compiling the modules of .* was killed/);
    await expect(compile('exit 1')).resolves.toBeUndefined();
  });
});
