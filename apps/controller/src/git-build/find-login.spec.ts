import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { formatGitIntegration } from '#lib/manifests';
import type { KubeObject } from '#lib/resources';
import { findLogin, findRemote, type GitSource } from './find-login.js';

const ID = randomUUID();
const REPOSITORY = 'https://git.example.org:8443/team/agent.git';
const OURS = { name: 'ours', host: 'git.example.org:8443', token: 'top-secret' };

/** A workspace with these integrations, by their ids. */
const workspaceWith = (data: Readonly<Record<string, string>> | undefined) => ({
  find: async () => (data && ({ metadata: { name: 'git-integrations' }, data } as KubeObject)) as never,
});
const loginOf = (source: Partial<GitSource>, integration: Partial<typeof OURS> & object = {}) =>
  findLogin(workspaceWith({ [ID]: formatGitIntegration({ ...OURS, ...integration }) }), 'ws', {
    repoUrl: REPOSITORY,
    integrationId: ID,
    ...source,
  });

describe('findLogin', () => {
  it('gives nothing where no integration is named', async () => {
    expect(await findLogin(workspaceWith(undefined), 'ws', { repoUrl: REPOSITORY })).toEqual({});
  });

  it('gives the token to the host of the integration, in whichever case both are written', async () => {
    expect(await loginOf({ integrationId: ID.toUpperCase() })).toEqual({ token: 'top-secret' });
    expect(await loginOf({ repoUrl: 'https://Git.Example.ORG:8443/a' })).toEqual({ token: 'top-secret' });
    expect(await loginOf({}, { host: 'GIT.example.org:8443' })).toEqual({ token: 'top-secret' });
  });

  it.each([
    ['another host', 'https://other.example.org/team/agent.git'],
    ['another port of the host', 'https://git.example.org/team/agent.git'],
    ['a host below it', 'https://evil.git.example.org:8443/team/agent.git'],
    ['a host that it begins', 'https://git.example.org:8443.evil.example/a'.replace(':8443.', '.')],
  ])('keeps the token from %s, and names both', async (_what, repoUrl) => {
    const { host } = new URL(repoUrl);
    const refused = loginOf({ repoUrl });
    await expect(refused).rejects.toThrow(
      `git integration ours is for git.example.org:8443, and the repository is at ${host}; name the integration of that host`,
    );
    await expect(refused).rejects.toMatchObject({ reason: 'IntegrationMissing' });
  });

  it.each<[string, Readonly<Record<string, string>> | undefined, string]>([
    ['no Secret', undefined, ID],
    ['no such key', { [randomUUID()]: formatGitIntegration(OURS) }, ID],
    ['a key of every object', {}, '__proto__'],
    ['a value that is no integration', { [ID]: Buffer.from('{}').toString('base64') }, ID],
  ])('reports a missing integration where there is %s', async (_what, data, integrationId) => {
    const refused = findLogin(workspaceWith(data), 'ws', { repoUrl: REPOSITORY, integrationId });
    await expect(refused).rejects.toThrow(
      `git integration ${integrationId} does not exist in this workspace; create it, or deploy with another integration_id`,
    );
  });
});

describe('findRemote', () => {
  it('names a user for hosts that take any, and none without a token', async () => {
    const client = workspaceWith({ [ID]: formatGitIntegration(OURS) });
    expect(await findRemote(client, 'ws', { repoUrl: REPOSITORY, integrationId: ID })).toEqual({
      url: REPOSITORY,
      login: { username: 'x-access-token', token: 'top-secret' },
    });
    expect(await findRemote(client, 'ws', { repoUrl: REPOSITORY })).toEqual({ url: REPOSITORY });
  });
});
