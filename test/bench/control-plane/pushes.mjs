import { served } from './deploying.mjs';
import { row, until } from './measuring.mjs';

/** From a push, announced by a webhook, to the agent that was built of it. */
export async function measurePushes({ rest, git, times }) {
  const { id: integration } = await rest.call('POST', '/v1/integrations/git_host', {
    ...{ name: 'bench', host: git.host, token: 'x', ca_certificate: git.ca },
  });
  const { url, secret } = await rest.call('PUT', `/v1/integrations/git_host/${integration}/webhook`, {});
  const began = performance.now();
  const made = await rest.call('POST', '/v2/deployments', {
    ...{ name: 'pushed', source: 'git_host', secrets: [], min_ready_seconds: 0 },
    source_config: { repo_url: git.url, integration_id: integration, build_on_push: true },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'langgraph.json' },
  });
  row('create from git → serving', [(await served(rest, made, began)).tookMs]);
  const took = [];
  for (let n = 0; n < times; n++) {
    const commit = git.push(n);
    const pushedAt = performance.now();
    await git.announce(url, secret, commit);
    const path = `/v2/deployments/${made.id}`;
    const done = await until(
      'the push',
      async () => {
        const { active_revision_id: active } = await rest.call('GET', path);
        const revision = await rest.find(`${path}/revisions/${active}`);
        return revision?.source_revision_config.repo_commit_sha === commit;
      },
      pushedAt,
    );
    took.push(done.tookMs);
  }
  row('push → build → serving, announced by webhook', took);
}
