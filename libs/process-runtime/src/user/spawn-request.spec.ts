import { describe, expect, it } from '@jest/globals';
import { spawnRequest } from './spawn-request.js';

describe('spawnRequest', () => {
  const requestFor = (path: string, command = 'sh', folder = '/') =>
    spawnRequest(
      {
        command,
        args: [],
        folder,
        isFolderNamed: false,
        noNewPrivileges: true,
        sockets: [],
        environment: { PATH: path },
        user: { isOwn: false } as never,
      },
      { setpriv: '/tools/setpriv', env: undefined },
    );

  it.each([
    ['the first 100 folders of PATH', `${'/none:'.repeat(99)}/bin`],
    ['the first 4,096 characters of PATH', `/${'n'.repeat(4_090)}:/bin`],
  ])('finds a command in %s', (_where, path) => expect(requestFor(path).command).toBe('/tools/setpriv'));

  it.each([
    ['100 folders of PATH', `${'/none:'.repeat(100)}/bin`],
    ['4,096 characters of PATH', `/${'n'.repeat(4_091)}:/bin`],
  ])('does not search beyond %s', (_where, path) =>
    expect(requestFor(path)).toMatchObject({
      command: 'sh',
      args: [],
      options: { env: { PATH: '/nonexistent' } },
    }),
  );

  it.each([
    ['a relative folder of PATH', 'bin', 'sh'],
    ['an empty folder of PATH, which is the working folder', '', 'bin/sh'],
    ['the working folder, by a relative path', '/none', './bin/sh'],
  ])('finds a command in %s', (_where, path, command) =>
    expect(requestFor(path, command).command).toBe('/tools/setpriv'),
  );

  it.each([['missing'], ['./missing'], ['/none/missing']])(
    'has nothing be found that appears only after the look, for %s',
    (command) =>
      expect(requestFor('/bin::.', command, '/none')).toMatchObject({
        command: 'missing',
        args: [],
        options: { env: { PATH: '/nonexistent' } },
      }),
  );
});
