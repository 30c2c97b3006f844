// The REST API of a platform that a benchmark started, and agents at zero there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const IDLE_SECONDS = 4;

/** @param dataFolder of the platform, whose credentials are used */
export function restOf(dataFolder) {
  const { restUrl, apiKey, tenantId } = JSON.parse(
    readFileSync(join(dataFolder, 'credentials.json'), 'utf8'),
  );
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };

  async function call(method, path, body) {
    const answer = await fetch(restUrl + path, {
      method,
      headers: { ...headers, 'x-tenant-id': tenantId },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async function untilAsleep(id) {
    for (;;) {
      const found = await call('GET', `/v2/deployments/${id}`);
      if (found.status_reason === 'Asleep') return found;
      await new Promise((resume) => setTimeout(resume, 250));
    }
  }

  async function deploySleeper(image, name) {
    const { id } = await call('POST', '/v2/deployments', {
      name,
      source: 'internal_image',
      source_config: { resource_spec: { min_scale: 0 } },
      source_revision_config: { image_uri: image },
      idle_seconds: IDLE_SECONDS,
    });
    return untilAsleep(id);
  }

  /** Milliseconds from a request to the first byte of its answer. */
  async function wake({ url }) {
    const began = performance.now();
    const answer = await fetch(`${url}/threads/search`, { method: 'POST', headers, body: '{}' });
    const tookMs = performance.now() - began;
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.text();
    return tookMs;
  }

  return { call, deploySleeper, untilAsleep, wake };
}

/** The fastest, the middle, the 95th of a hundred and the slowest. */
export function percentiles(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => Math.round(sorted[Math.floor((sorted.length - 1) * share)]);
  return `fastest ${at(0)}, p50 ${at(0.5)}, p95 ${at(0.95)}, slowest ${at(1)} of ${sorted.length}`;
}
