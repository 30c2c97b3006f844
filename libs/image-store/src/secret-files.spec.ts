import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { findSecretFiles } from './copy-content.js';

describe('findSecretFiles', () => {
  const root = temporaryFolder();

  it('names what tends to hold secrets, and no examples, sources or installed packages', () => {
    for (const path of [
      '.env',
      '.env.local',
      '.env.example',
      '.npmrc',
      'agent.ts',
      'environment.ts',
      'src/.envrc',
      'src/server.key',
      '.ssh/config',
      'node_modules/one/.npmrc',
      'certificates/ca.pem',
    ]) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), '');
    }
    expect(findSecretFiles(root)).toEqual([
      '.env',
      '.env.local',
      '.npmrc',
      '.ssh',
      'src/.envrc',
      'src/server.key',
    ]);
  });
});
