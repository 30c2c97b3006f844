import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { Command, isCommand } from '@langchain/langgraph';
import { graphInput } from './graph-options.js';

const command = { resume: 'yes', update: { word: 'a' } };

describe('graphInput', () => {
  const folder = temporaryFolder();

  it('makes a command of the class of the library that the graph imports', async () => {
    const input = await graphInput({ input: undefined, command }, import.meta.filename);
    expect(input).toBeInstanceOf(Command);
    expect(input).toMatchObject(command);
  });

  it('makes no plain object of a command where the graph imports no library itself', async () => {
    const input = await graphInput({ input: undefined, command }, join(folder, 'graph.js'));
    expect(isCommand(input)).toBe(true);
    expect(Object.getPrototypeOf(input)).not.toBe(Object.prototype);
    expect(input).toMatchObject(command);
  });

  it('gives null for a run without an input', async () => {
    expect(await graphInput({ input: undefined, command: undefined }, '')).toBeNull();
  });
});
