import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from '@langchain/core/load';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { pythonWith } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const SCRIPT = join(import.meta.dirname, '..', 'testdata', 'prompts.py');
/** A Python with `langsmith` and `langchain-core`. */
const python = pythonWith('langsmith', 'langchain_core');

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const MANIFEST = {
  lc: 1,
  type: 'constructor',
  id: ['langchain', 'prompts', 'p'],
  kwargs: { template: '{a}' },
};

describe('prompts', () => {
  const { api, tenant } = testApi();
  const clientOf = (key: string) => new Client({ apiUrl: api.url, apiKey: key });

  async function makePrompt(name: string, manifest: object = MANIFEST) {
    await tenant.call('POST', '/repos', { repo_handle: name, is_public: false });
    return (await tenant.call('POST', `/commits/-/${name}`, { manifest })).json.commit;
  }

  it('comes back from the JavaScript client as it was pushed, by tag, hash and name', async () => {
    const client = clientOf(tenant.key);
    const first = ChatPromptTemplate.fromMessages([
      ['system', 'You are ä {role}'],
      ['human', '{question}'],
    ]);
    const second = ChatPromptTemplate.fromMessages([['human', 'again: {question}']]);
    const url = await client.pushPrompt('js', { object: first, description: 'd', tags: ['x'] });
    await client.createCommit('js', second, { tags: ['prod', 'v2'], description: 'shorter' });
    await expect(client.createCommit('js', second)).rejects.toThrow('Nothing to commit');
    const [newest, oldest] = await all(client.listCommits('js'));
    expect(url).toContain(oldest?.commit_hash.slice(0, 8));
    const { manifest } = await client.pullPromptCommit('js:prod');
    expect(manifest).toEqual(JSON.parse(JSON.stringify(second)));
    const loaded: ChatPromptTemplate = await load(JSON.stringify(manifest));
    const { messages } = await loaded.invoke({ question: 'why' });
    expect(messages.map(({ content }) => content)).toEqual(['again: why']);
    const latest = await client.pullPromptCommit('js');
    expect(latest).toMatchObject({ owner: '-', repo: 'js', commit_hash: newest?.commit_hash, examples: [] });
    const older = await client.pullPromptCommit(`js:${oldest?.commit_hash.slice(0, 8)}`);
    expect(older.manifest).toEqual(JSON.parse(JSON.stringify(first)));
    await client.updatePrompt('js', { description: 'other', isArchived: true });
    expect(await client.getPrompt('js')).toMatchObject({
      description: 'other',
      is_archived: true,
      tags: ['x'],
      num_commits: 2,
      last_commit_hash: newest?.commit_hash,
    });
    expect(await client.likePrompt('js')).toEqual({ likes: 1 });
    expect(await client.unlikePrompt('js')).toEqual({ likes: 0 });
    expect((await all(client.listPrompts({ isArchived: true }))).map((p) => p.repo_handle)).toEqual(['js']);
    await client.deletePrompt('js');
    expect(await client.getPrompt('js')).toBeNull();
    expect(await client.promptExists('js')).toBe(false);
  });

  if (python)
    it('comes back from the Python client as it was pushed', async () => {
      const { tenantId: _id, key } = await api.workspace();
      const { stdout } = await promisify(execFile)(python, [SCRIPT, api.url, key]);
      expect(JSON.parse(stdout)).toEqual({
        url: 'translate',
        again: 'LangSmithConflictError',
        commits: [
          ['shorter', true],
          [null, false],
        ],
        pulled: true,
        owner: 'translate',
        formatted: 'You translate to French. ä',
        by_hash: true,
        moved: true,
        structured: 'answer',
        likes: [1, 0, 1],
        listed: [
          ['structured', 1, 0],
          ['translate', 3, 1],
        ],
        archived: [['empty', 'still none', null]],
        found: ['translate'],
        one: ['d', '# r', ['t'], false, true],
        public: ['LangSmithUserError', 'LangSmithNotFoundError', 'LangSmithUserError'],
        missing: ['LangSmithNotFoundError', 'LangSmithNotFoundError', 'LangSmithNotFoundError'],
        deleted: null,
      });
    });
  else it.skip('needs langsmith: set AGENTPLANE_TEST_PYTHON to a Python that has it', () => undefined);

  it('answers the model only where it is asked for', async () => {
    const model = { lc: 1, type: 'constructor', id: ['langchain', 'chat_models', 'M'], kwargs: {} };
    const id = ['langchain', 'schema', 'runnable', 'RunnableSequence'];
    const whole = { lc: 1, type: 'constructor', id, kwargs: { first: MANIFEST, last: model } };
    await makePrompt('with-model', whole);
    const pull = async (query: string) =>
      (await tenant.call('GET', `/commits/-/with-model/latest${query}`)).json.manifest;
    expect(await pull('')).toEqual(MANIFEST);
    expect(await pull('?include_model=true')).toEqual(whole);
    expect(await pull('?include=model')).toEqual(whole);
  });

  it('keeps prompts of another workspace apart, under one name', async () => {
    const other = await api.workspace();
    const { id } = await makePrompt('mine');
    await other.call('POST', '/repos', { repo_handle: 'mine' });
    expect((await other.call('GET', '/commits/-/mine/latest')).status).toBe(404);
    const tag = { tag_name: 'prod', commit_id: id };
    expect((await other.call('POST', '/repos/-/mine/tags', tag)).status).toBe(404);
    expect((await other.call('DELETE', '/repos/-/mine')).json).toEqual({ deleted: 'mine' });
    expect((await tenant.call('GET', '/commits/-/mine/latest')).json.manifest).toEqual(MANIFEST);
    expect((await tenant.call('GET', '/repos?tags=%00')).json).toEqual({ repos: [], total: 0 });
    expect((await other.call('GET', '/repos')).json).toEqual({ repos: [], total: 0 });
  });

  it('lets the key of a deployment pull, and not push', async () => {
    await makePrompt('of-agents');
    const { key } = await api.store.apiKeys.mint(tenant.tenantId, {
      name: 'd',
      scope: 'deployment',
      deployment: 'd',
      project: 'p',
    });
    const client = clientOf(key);
    expect((await client.pullPromptCommit('of-agents')).manifest).toEqual(MANIFEST);
    await expect(client.pushPrompt('of-agents', { object: {} })).rejects.toThrow();
  });

  it('moves a tag, names it in lists, and removes it', async () => {
    const one = await makePrompt('tagged');
    const two = (await tenant.call('POST', '/commits/-/tagged', { manifest: { ...MANIFEST, lc: 2 } })).json
      .commit;
    expect(two.parent_commit_hash).toBe(one.commit_hash);
    for (const { id } of [one, two])
      await tenant.call('POST', '/repos/-/tagged/tags', { tag_name: 'prod', commit_id: id });
    const tags = await tenant.call('GET', '/repos/-/tagged/tags');
    expect(tags.json).toMatchObject([{ tag_name: 'prod', commit_hash: two.commit_hash }]);
    const listed = await tenant.call('GET', '/commits/-/tagged?tag=prod');
    expect(listed.json).toMatchObject({ total: 1, commits: [{ id: two.id }] });
    expect((await tenant.call('DELETE', '/repos/-/tagged/tags/prod')).status).toBe(204);
    expect((await tenant.call('DELETE', '/repos/-/tagged/tags/prod')).status).toBe(404);
    expect((await tenant.call('GET', '/repos/-/tagged')).json.repo.commit_tags).toEqual([]);
  });

  it.each([
    ['a name with a slash', 'POST', '/repos', { repo_handle: 'a/b' }, 422, 'pattern'],
    ['a public prompt', 'POST', '/repos', { repo_handle: 'a', is_public: true }, 422, 'public prompts'],
    ['an agent', 'POST', '/repos', { repo_handle: 'a', repo_type: 'agent' }, 400, 'agents and skills'],
    ['lists of skills', 'GET', '/repos?repo_type=skill', undefined, 400, 'agents and skills'],
    ['a prompt of another owner', 'GET', '/commits/rlm/rag-prompt/latest', undefined, 404, 'public prompts'],
    ['a manifest that is a list', 'POST', '/commits/-/kept', { manifest: [] }, 422, 'valid object'],
    [
      'a manifest that is too large',
      'POST',
      '/commits/-/kept',
      { manifest: { a: 'x'.repeat(600_000) } },
      422,
      '524288',
    ],
    [
      'an unknown parent',
      'POST',
      '/commits/-/kept',
      { manifest: {}, parent_commit: 'abcdef12' },
      404,
      'no commit abcdef12',
    ],
    [
      'an unknown commit',
      'GET',
      '/commits/-/kept/abcdef12',
      undefined,
      404,
      'the prompt kept has no commits',
    ],
    ['U+0000 in a path', 'GET', '/commits/-/kept%00/latest', undefined, 404, 'not found'],
    ['U+0000 in a tag of a path', 'GET', '/commits/-/kept/a%00', undefined, 404, 'not found'],
    [
      'a tag named latest',
      'POST',
      '/repos/-/kept/tags',
      { tag_name: 'latest', commit_id: randomUUID() },
      422,
      'newest commit',
    ],
    [
      'a tag of an unknown commit',
      'POST',
      '/repos/-/kept/tags',
      { tag_name: 'a', commit_id: randomUUID() },
      404,
      'not found',
    ],
    ['half a character', 'POST', '/repos', '{"repo_handle":"a","tags":["\\ud800"]}', 422, 'tags'],
  ] as const)('refuses %s', async (_name, method, path, body, status, words) => {
    await tenant.call('POST', '/repos', { repo_handle: 'kept' });
    const answer = await tenant.call(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(words);
  });

  it('refuses a name that is taken, and does not ask for a hash as a whole', async () => {
    const { commit_hash } = await makePrompt('taken');
    const taken = await tenant.call('POST', '/api/v1/repos/', { repo_handle: 'taken' });
    expect(taken).toMatchObject({ status: 409 });
    const found = await tenant.call('GET', `/api/v1/commits/-/taken/${commit_hash.slice(0, 7)}`);
    expect(found.json.commit_hash).toBe(commit_hash);
    expect((await tenant.call('GET', `/commits/-/taken/${commit_hash.slice(0, 6)}`)).status).toBe(404);
  });
});
