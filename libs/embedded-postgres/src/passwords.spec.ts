import { lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { Passwords } from './embedded-postgres.js';

describe('Passwords', () => {
  const folder = temporaryFolder();

  it('makes one password for each role, once', () => {
    const file = join(folder, 'secrets', 'postgres.json');
    const password = new Passwords(file).ensure('kube');
    expect(password.length).toBeGreaterThan(20);
    expect(new Passwords(file).ensure('kube')).toBe(password);
    expect(new Passwords(file).ensure('other')).not.toBe(password);
  });

  it('writes through no link that lies in the place of its draft', () => {
    const file = join(folder, 'linked.json');
    const other = join(folder, 'other');
    writeFileSync(other, 'kept');
    symlinkSync(other, `${file}.new`);
    new Passwords(file).ensure('kube');
    expect(readFileSync(other, 'utf8')).toBe('kept');
    expect(lstatSync(file).isFile()).toBe(true);
  });

  it('names a broken file without showing its content', () => {
    const file = join(folder, 'broken.json');
    writeFileSync(file, '{"kube": "secret');
    expect(() => new Passwords(file).ensure('kube')).toThrow(
      new Error(`${file} is not JSON; restore the file from a backup, it holds the database passwords`),
    );
  });
});
