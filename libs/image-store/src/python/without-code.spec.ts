import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { withoutCode } from './install-python.js';

describe('withoutCode', () => {
  const venv = temporaryFolder();
  const packages = join(venv, 'lib', 'python3.12', 'site-packages');
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(packages, name)), { recursive: true });
    writeFileSync(join(packages, name), text);
  };
  const read = (name: string): string => readFileSync(join(packages, name), 'utf8');

  it('leaves what is known of packages alone, and puts their code back beside what came', async () => {
    write('a.pth', 'import a');
    write('sitecustomize.py', 'a');
    write('shared/a/__init__.py', 'a');
    write('shared/both.py', 'a');
    write('a-1.0.dist-info/METADATA', 'a');
    await withoutCode(venv, () => {
      expect(readdirSync(packages)).toEqual(['a-1.0.dist-info']);
      write('shared/b/__init__.py', 'b');
      write('shared/both.py', 'b');
      return Promise.resolve();
    });
    expect(readdirSync(packages).toSorted()).toEqual([
      'a-1.0.dist-info',
      'a.pth',
      'shared',
      'sitecustomize.py',
    ]);
    expect([read('shared/a/__init__.py'), read('shared/b/__init__.py'), read('shared/both.py')]).toEqual([
      'a',
      'b',
      'b',
    ]);
    expect(existsSync(join(venv, '.code'))).toBe(false);
  });
});
