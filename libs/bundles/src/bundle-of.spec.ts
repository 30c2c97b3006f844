import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '#lib/testing';
import { bundleOf } from './bundle-of.js';

const folder = temporaryFolder();
const dist = pathToFileURL(`${folder}/`);
const bundle = join(folder, 'bundles', 'program.js');

describe('the bundle of a program', () => {
  it('answers none where none was made', () => {
    expect(bundleOf('program', dist)).toBeUndefined();
  });

  it('finds the file of its name', () => {
    mkdirSync(join(folder, 'bundles'));
    writeFileSync(bundle, '');
    expect(bundleOf('program', dist)).toBe(pathToFileURL(bundle).href);
    expect(bundleOf('other', dist)).toBeUndefined();
  });

  it('answers none while something was compiled after it', () => {
    writeFileSync(join(folder, '.tsbuildinfo'), '');
    utimesSync(bundle, 1_000, 1_000);
    utimesSync(join(folder, '.tsbuildinfo'), 1_001, 1_001);
    expect(bundleOf('program', dist)).toBeUndefined();
    utimesSync(bundle, 1_001, 1_001);
    expect(bundleOf('program', dist)).toBe(pathToFileURL(bundle).href);
  });
});
