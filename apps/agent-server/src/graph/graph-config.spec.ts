import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { readGraphConfiguration } from './graph-config.js';

const folder = temporaryFolder();
let count = 0;

function agentWith(text: string | undefined): string {
  const path = join(folder, String(count++));
  mkdirSync(path);
  if (text !== undefined) writeFileSync(join(path, 'langgraph.json'), text);
  return path;
}

describe('langgraph.json', () => {
  it('names graphs by file and export, and ignores unknown keys', async () => {
    const path = agentWith(
      '{"graphs": {"a": "./src/a.ts:graph", "b": {"path": "b.js", "description": "B"}}, "ui": {}}',
    );
    expect(await readGraphConfiguration(path)).toEqual({
      folder: path,
      hasCustomAuth: false,
      graphs: [
        { graphId: 'a', file: join(path, 'src', 'a.ts'), exportName: 'graph' },
        { graphId: 'b', file: join(path, 'b.js'), exportName: 'default', description: 'B' },
      ],
    });
  });

  it.each([
    ['is missing', undefined, /cannot be read/],
    ['is no JSON', '{', /cannot be read/],
    ['names no graph', '{"graphs": {}}', /names no graph/],
    ['names a graph wrongly', '{"graphs": {"a": 3}}', /must be "FILE:EXPORT"/],
    ['names a Python graph', '{"graphs": {"a": "a.py:graph"}}', /is Python/],
  ])('refuses a langgraph.json that %s', async (_title, text, message) => {
    await expect(readGraphConfiguration(agentWith(text))).rejects.toMatchObject({
      reason: 'GraphLoadFailed',
      message: expect.stringMatching(message),
    });
  });
});
