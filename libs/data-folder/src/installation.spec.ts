import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { packagesOf } from './installation.js';

describe('packagesOf', () => {
  const folder = temporaryFolder();

  function installed(place: string): void {
    const path = join(folder, place, '@langchain', 'langgraph');
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'package.json'), '{}');
  }

  it('finds the packages of a checkout in itself, also before they are installed', () => {
    expect(packagesOf(join(folder, 'checkout'))).toBe(join(folder, 'checkout', 'node_modules'));
  });

  it('finds the packages of a package beside it, or in itself where it is locked', () => {
    installed('node_modules');
    const itself = join(folder, 'node_modules', 'agentplane');
    expect(packagesOf(itself)).toBe(join(folder, 'node_modules'));
    installed(join('node_modules', 'agentplane', 'node_modules'));
    expect(packagesOf(itself)).toBe(join(itself, 'node_modules'));
  });
});
