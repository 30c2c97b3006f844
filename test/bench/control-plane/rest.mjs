/** The REST interface of a platform that was just started. */
export function openRest({ restUrl, apiKey, tenantId }) {
  const ask = (method, path, body) =>
    fetch(restUrl + path, {
      method,
      headers: { 'x-api-key': apiKey, 'x-tenant-id': tenantId, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  return {
    async call(method, path, body) {
      const answer = await ask(method, path, body);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text === '' ? undefined : JSON.parse(text);
    },
    /** Undefined where there is nothing yet. */
    async find(path) {
      const answer = await ask('GET', path);
      const text = await answer.text();
      return answer.ok ? JSON.parse(text) : undefined;
    },
  };
}
