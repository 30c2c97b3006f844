import { describe, expect, it } from '@jest/globals';
import { type Bind, mountSteps } from './prepare-mounts.js';

const FOLDERS = new Set(['/', '/etc', '/etc/agent', '/var', '/tmp']);
const isFolder = (path: string): boolean => FOLDERS.has(path);

/** One line for each step. */
function stepsOf(...binds: (Partial<Bind> & { readonly target: string })[]): string[] {
  const whole = binds.map((bind, at) => ({
    source: `/v${at}`,
    isReadOnly: false,
    isSourceMade: false,
    ...bind,
  }));
  const words = mountSteps(whole, isFolder, (path) => FOLDERS.has(path) || path === '/etc/passwd');
  return Array.from({ length: words.length / 3 }, (_, at) => words.slice(at * 3, at * 3 + 3).join(' '));
}

describe('mountSteps', () => {
  it.each<[string, string[], (Partial<Bind> & { readonly target: string })[]]>([
    ['covers a folder that exists', ['bind /v0 /tmp'], [{ target: '/tmp' }]],
    ['covers a file that exists', ['bind /v0 /etc/passwd'], [{ target: '/etc/passwd' }]],
    ['makes a folder in the root of the container', ['bind /v0 /data'], [{ target: '/data' }]],
    [
      'opens the deepest folder that exists, and makes those below it',
      ['mirror /etc -', 'folder /etc/a -', 'bind /v0 /etc/a/b', 'read-only /etc/a/b -'],
      [{ target: '/etc/a/b', isReadOnly: true }],
    ],
    [
      'opens a folder once, and folders before those in them',
      ['mirror /etc -', 'bind /v1 /etc/x', 'bind /v2 /etc/y', 'mirror /etc/agent -', 'bind /v0 /etc/agent/z'],
      [{ target: '/etc/agent/z' }, { target: '/etc/x' }, { target: '/etc/y' }],
    ],
    ['makes memory', ['memory /tmp -'], [{ target: '/tmp', isMemory: true }]],
    [
      'leaves what lies in another volume to that',
      ['bind-made /v1 /data', 'bind /v0 /data/in/it'],
      [{ target: '/data/in/it' }, { target: '/data', isSourceMade: true }],
    ],
  ])('%s', (_what, steps, binds) => {
    expect(stepsOf(...binds)).toEqual(['mirror / -', ...steps]);
  });
});
