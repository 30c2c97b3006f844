import { databaseServerName, revisionBuildName, revisionName } from './object-name.js';

describe('revisionBuildName', () => {
  it('follows the name of the revision', () => {
    expect(revisionBuildName(revisionName('a', 1))).toBe('a-00001-build');
    expect(revisionBuildName(revisionName('a'.repeat(51), 1))).toBe(`${'a'.repeat(51)}-00001-build`);
  });

  it('fits into a label for the longest deployment, and differs by revision', () => {
    const names = [1, 2].map((number) => revisionBuildName(revisionName('a'.repeat(57), number)));
    expect(names).toEqual([
      expect.stringMatching(/^a{48}-[0-9a-f]{8}-build$/),
      expect.stringMatching(/^a{48}-[0-9a-f]{8}-build$/),
    ]);
    expect(names.map(({ length }) => length)).toEqual([63, 63]);
    expect(new Set(names).size).toBe(2);
  });
});

describe('databaseServerName', () => {
  it('follows the name of the deployment', () => {
    expect(databaseServerName('a')).toBe('a-postgres');
    expect(databaseServerName('a'.repeat(43))).toBe(`${'a'.repeat(43)}-postgres`);
  });

  it('leaves room for the hash in a label of its pod, and differs by deployment', () => {
    const names = ['b', 'c'].map((end) => databaseServerName(`${'a'.repeat(56)}${end}`));
    for (const name of names) expect(name).toMatch(/^a{34}-[0-9a-f]{8}-postgres$/);
    expect(names.map(({ length }) => length)).toEqual([52, 52]);
    expect(new Set(names).size).toBe(2);
  });
});
