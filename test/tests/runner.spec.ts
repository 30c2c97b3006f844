import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { takeNext } from '../../scripts/tests/longest-first.mjs';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

describe('the runner of spec files', () => {
  const folder = temporaryFolder();
  let code: number | undefined;
  let report: Report;

  beforeAll(async () => {
    const output = join(folder, 'report.json');
    const words = ['--testMatch', '**/testdata/runner/*.fixture.ts', '--json', `--outputFile=${output}`];
    const jest = ['node_modules/jest/bin/jest.js', ...words, '--maxWorkers=1', '--reporters=default'];
    const child = execFile(process.execPath, jest);
    code = await new Promise((resolve) => child.once('exit', resolve));
    report = JSON.parse(readFileSync(output, 'utf8')) as Report;
  });

  const statusesOf = (name: string): Readonly<Record<string, string>> => {
    const file = report.testResults.find((one) => basename(one.name) === name);
    const tests = file?.assertionResults.map(({ fullName, status }) => [fullName, status]) ?? [];
    return Object.fromEntries(tests) as Record<string, string>;
  };

  it('reports each test, and fails those that throw, hang, or leave an error to itself', () => {
    expect(statusesOf('results.fixture.ts')).toEqual({
      'results passes': 'passed',
      'results fails': 'failed',
      'results is skipped': 'pending',
      'results hangs': 'failed',
      'results leaves a rejection to itself': 'failed',
      'results expects more than it checks': 'failed',
      'a set-up that fails fails with it': 'failed',
    });
    expect(code).toBe(1);
  });

  it('fails a file that does not load', () => {
    const file = report.testResults.find(({ name }) => basename(name) === 'broken.fixture.ts');
    expect(file?.status).toBe('failed');
  });

  it('shares modules between files, except with one that asks for a process of its own', () => {
    const shared = ['first', 'second', 'third'].flatMap((name) =>
      Object.keys(statusesOf(`shared-${name}.fixture.ts`)),
    );
    expect(shared.sort()).toEqual([
      'is alone as file 1',
      'is file 1 of its process',
      'is file 2 of its process',
    ]);
  });
});

describe('the next file of a process', () => {
  it('starts two platforms while there are other files, and more once there are none', () => {
    const queue = ['platform 1', 'platform 2', 'platform 3', 'platform 4', 'other 1', 'other 2'];
    const take = (lane: number) => takeNext(queue, lane, (name) => name.startsWith('platform'));
    expect([0, 1, 2, 3].map(take)).toEqual(['platform 1', 'platform 2', 'other 1', 'other 2']);
    expect([3, 0, 0].map(take)).toEqual(['platform 3', 'platform 4', undefined]);
  });
});
