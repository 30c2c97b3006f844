import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { readGraphFolder } from './graph-folder.js';

const folder = temporaryFolder();
let count = 0;

function agentWith(files: Readonly<Record<string, string>>): string {
  const path = join(folder, String(count++));
  mkdirSync(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const naming = (env: unknown): string => JSON.stringify({ graphs: { a: './src/a.ts:graph' }, env });

describe('the folder of an agent', () => {
  it('has its graphs at their real places', async () => {
    const path = agentWith({ 'langgraph.json': naming(undefined) });
    symlinkSync(path, `${path}-link`);
    expect(await readGraphFolder(`${path}-link`)).toMatchObject({
      folder: path,
      graphs: [{ graphId: 'a', file: join(path, 'src', 'a.ts'), exportName: 'graph' }],
      variables: {},
      notes: [],
    });
  });

  it('refuses to be without a langgraph.json', async () => {
    await expect(readGraphFolder(agentWith({}))).rejects.toMatchObject({
      reason: 'GraphLoadFailed',
      message: 'langgraph.json: the file cannot be read',
    });
  });

  it('sets the variables of a file', async () => {
    const file = '# keys\nA=1\nexport B="two words"\nC=\n';
    const path = agentWith({ 'langgraph.json': naming('.env'), '.env': file });
    expect((await readGraphFolder(path)).variables).toEqual({ A: '1', B: 'two words', C: '' });
  });

  it('names a file of variables that is missing', async () => {
    const path = agentWith({ 'langgraph.json': naming('.env') });
    expect((await readGraphFolder(path)).notes).toEqual([
      '"env" of langgraph.json has no effect: the image has no file .env; secrets of the deployment are set all the same',
    ]);
  });
});
