import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PLATFORM_VERSION } from '#lib/config';
import { temporaryFolder } from '#lib/testing';
import { agentContainerfile } from './build-image.js';

const GRAPH = JSON.stringify({ graphs: { agent: './agent.ts:graph' } });
const PYTHON = JSON.stringify({ dependencies: ['.'], graphs: { agent: './agent.py:graph' } });

describe('the Containerfile of an agent', () => {
  const root = temporaryFolder();

  function folderOf(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(root, 'agent-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return folder;
  }
  const lines = (files: Readonly<Record<string, string>>): readonly string[] =>
    agentContainerfile(folderOf(files), 'registry.example.com/').containerfile.trimEnd().split('\n');

  it('copies a folder without a lock file onto the platform’s image, and keeps the types of its graphs', () => {
    expect(lines({ 'langgraph.json': GRAPH })).toEqual([
      `FROM registry.example.com/agentplane/agent:${PLATFORM_VERSION}`,
      'USER root',
      'COPY --chown=0:0 . /agent',
      'RUN node /app/dist/libs/image-store/src/graph-types/main.js --sources /agent/langgraph.json /app/node_modules || true',
      'USER 10001:10001',
    ]);
    expect(lines({ 'langgraph.json': PYTHON, 'requirements.txt': '' }).join()).not.toContain('graph-types');
  });

  it.each([
    ['package-lock.json', 'npm ci --omit=dev'],
    ['pnpm-lock.yaml', '--package=pnpm@'],
    ['yarn.lock', '--package=@yarnpkg/cli-dist@'],
  ])('installs what %s names, and ends as another user than root', (lock, command) => {
    const text = lock === 'pnpm-lock.yaml' ? "lockfileVersion: '9.0'\n" : '{}';
    const made = lines({ 'langgraph.json': GRAPH, 'package.json': '{}', [lock]: text });
    expect(made[1]).toBe('USER root');
    expect(made[3]).toContain(command);
    expect(made.at(-1)).toBe('USER 10001:10001');
  });

  it('installs requirements.txt of an agent in Python on the image with Python', () => {
    const made = lines({ 'langgraph.json': PYTHON, 'requirements.txt': 'langgraph\n' });
    expect(made[0]).toBe(`FROM registry.example.com/agentplane/agent-python:${PLATFORM_VERSION}`);
    expect(made[3]).toContain('.venv/bin/pip install');
  });

  it('refuses packages in Python that it cannot install, and folders without an agent', () => {
    expect(() => lines({ 'langgraph.json': PYTHON, 'uv.lock': '' })).toThrow('uv export');
    expect(() => lines({ 'agent.ts': '' })).toThrow('no langgraph.json');
  });

  it('mounts the settings of a package manager for the installation alone', () => {
    const { containerfile, ignored, secrets } = agentContainerfile(
      folderOf({
        'langgraph.json': GRAPH,
        'package.json': '{}',
        'package-lock.json': '{}',
        '.npmrc': '//registry.example.com/:_authToken=t',
      }),
      '',
    );
    expect(containerfile).toContain('RUN --mount=type=secret,id=.npmrc,target=/agent/.npmrc env CI=true');
    expect(secrets).toEqual([{ id: '.npmrc', path: expect.stringMatching(/agent-\w+\/\.npmrc$/) }]);
    expect(ignored.split('\n')).toContain('**/.npmrc');
  });

  it('refuses settings of a package manager that are a link, which leads out of the folder', () => {
    const folder = folderOf({ 'langgraph.json': GRAPH, 'package.json': '{}', 'package-lock.json': '{}' });
    symlinkSync('/proc/self/environ', join(folder, '.npmrc'));
    expect(() => agentContainerfile(folder, '')).toThrow('.npmrc is not a file of its own');
  });

  it('leaves out secrets and what is installed anew, and what the folder’s own file names', () => {
    const { ignored } = agentContainerfile(
      folderOf({ 'langgraph.json': GRAPH, '.dockerignore': 'notes\n' }),
      '',
    );
    expect(ignored.split('\n')).toEqual(
      expect.arrayContaining([
        '**/node_modules',
        '**/.env',
        '**/.npmrc',
        '**/*.key',
        '!**/.env.example',
        'notes',
      ]),
    );
  });
});
