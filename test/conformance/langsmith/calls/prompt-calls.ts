import { randomUUID } from 'node:crypto';
import type { Client } from 'langsmith';
import { expect } from '@jest/globals';
import { all } from '../world.js';
import type { Calls } from './run-calls.js';

const MANIFEST = { lc: 1, type: 'constructor', id: ['langchain', 'prompts', 'p'], kwargs: { a: '{b}' } };

async function pushed(client: Client): Promise<string> {
  const name = `made-${randomUUID()}`;
  await client.pushPrompt(name, { object: MANIFEST, description: 'd' });
  return name;
}

export const PROMPTS: Calls = {
  async promptExists({ client }) {
    expect(await client.promptExists(await pushed(client))).toBe(true);
    expect(await client.promptExists('none')).toBe(false);
  },
  async likePrompt({ client }) {
    expect(await client.likePrompt(await pushed(client))).toEqual({ likes: 1 });
  },
  async unlikePrompt({ client }) {
    expect(await client.unlikePrompt(await pushed(client))).toEqual({ likes: 0 });
  },
  async listCommits({ client }) {
    const name = await pushed(client);
    await client.createCommit(name, { ...MANIFEST, lc: 2 });
    expect(await all(client.listCommits(name))).toHaveLength(2);
  },
  async listPrompts({ client }) {
    const name = await pushed(client);
    expect(await all(client.listPrompts({ query: name }))).toMatchObject([{ repo_handle: name }]);
  },
  async getPrompt({ client }) {
    const name = await pushed(client);
    expect(await client.getPrompt(name)).toMatchObject({ repo_handle: name, description: 'd' });
  },
  async createPrompt({ client }) {
    const name = `made-${randomUUID()}`;
    expect(await client.createPrompt(name, { tags: ['t'] })).toMatchObject({ tags: ['t'] });
    await expect(client.createPrompt(name)).rejects.toThrow('exists');
  },
  async createCommit({ client }) {
    const name = await pushed(client);
    expect(await client.createCommit(name, { a: 1 }, { tags: 'prod' })).toContain(name);
    expect((await client.pullPromptCommit(`${name}:prod`)).manifest).toEqual({ a: 1 });
  },
  async updatePrompt({ client }) {
    const name = await pushed(client);
    await client.updatePrompt(name, { readme: 'r' });
    expect(await client.getPrompt(name)).toMatchObject({ readme: 'r', description: 'd' });
  },
  async deletePrompt({ client }) {
    const name = await pushed(client);
    await client.deletePrompt(name);
    expect(await client.promptExists(name)).toBe(false);
  },
  async pullPromptCommit({ client }) {
    expect((await client.pullPromptCommit(await pushed(client))).manifest).toEqual(MANIFEST);
  },
  async pushPrompt({ client }) {
    const name = await pushed(client);
    expect(await client.pushPrompt(name, { object: { a: 2 } })).toContain(name);
  },
  async agentExists({ client }) {
    expect(await client.agentExists('none')).toBe(false);
  },
  async skillExists({ client }) {
    expect(await client.skillExists('none')).toBe(false);
  },
};
