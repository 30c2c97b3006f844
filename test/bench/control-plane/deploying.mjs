import { until } from './measuring.mjs';

/** Makes a deployment of the sample agent, or of what `more` says. */
export function deploy(rest, name, more = {}) {
  return rest.call('POST', '/v2/deployments', {
    ...{ name, source: 'internal_image', source_config: {}, secrets: [], min_ready_seconds: 0 },
    source_revision_config: { image_uri: 'sample-agent' },
    ...more,
  });
}

/** Until the newest revision of a deployment, as it was answered, serves. */
export function served(rest, { id, latest_revision_id: latest }, began) {
  return until(
    `revision ${latest}`,
    async () => {
      const found = await rest.call('GET', `/v2/deployments/${id}`);
      return found.active_revision_id === latest && found.url !== null && found;
    },
    began,
  );
}
