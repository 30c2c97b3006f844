import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { missingPackages } from './missing-packages.js';

const root = temporaryFolder();
let made = 0;

function agentOf(dependencies: readonly string[], ...files: readonly string[]): string {
  const folder = join(root, `agent-${made++}`);
  const settings = { dependencies, graphs: { agent: './agent.py:graph' } };
  for (const [name, text] of [
    ['langgraph.json', JSON.stringify(settings)],
    ...files.map((one) => [one, '']),
  ]) {
    const path = join(folder, name ?? '');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text ?? '');
  }
  return folder;
}

describe('missingPackages', () => {
  const { VIRTUAL_ENV: before } = process.env;
  beforeAll(() => void delete process.env['VIRTUAL_ENV']);
  afterAll(() => {
    if (before !== undefined) process.env['VIRTUAL_ENV'] = before;
  });

  it.each<[string, readonly string[], readonly string[], string]>([
    ['a list of requirements', ['.'], ['requirements.txt'], '.venv/bin/pip install -r requirements.txt'],
    ['a project', ['.'], ['pyproject.toml'], '.venv/bin/pip install -e .'],
    [
      'packages that langgraph.json names',
      ['langchain_openai', '.'],
      [],
      '.venv/bin/pip install langchain_openai',
    ],
    [
      'folders inside, and packages with a version',
      ['./lib', './app', 'numpy>=2'],
      ['lib/pyproject.toml', 'app/requirements.txt'],
      ".venv/bin/pip install -e ./lib -r app/requirements.txt 'numpy>=2'",
    ],
    ['nothing', ['.'], [], '.venv/bin/pip install langgraph'],
  ])('advises what to install for %s', (_what, dependencies, files, install) => {
    const folder = agentOf(dependencies, ...files);
    expect(missingPackages(folder)).toBe(
      `the agent's packages are not installed; run: cd ${folder} && python3 -m venv .venv && ${install}`,
    );
  });

  it('advises uv for its lock', () => {
    const folder = agentOf(['.'], 'pyproject.toml', 'uv.lock');
    expect(missingPackages(folder)).toBe(
      `the agent's packages are not installed; run: cd ${folder} && uv sync`,
    );
  });
});
