import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '#lib/json';

/** A page of text, with a policy that allows loading only from its own server. */
export interface DocsPage {
  readonly html: string;
  readonly policy: string;
}

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
summary { cursor: pointer; padding: .3rem 0; }
summary b { display: inline-block; min-width: 4.5rem; }
details > div { margin: 0 0 1rem 1rem; }
textarea, input { width: 100%; box-sizing: border-box; font: 13px/1.4 ui-monospace, monospace; }
pre { overflow: auto; max-height: 24rem; padding: .5rem; background: #8882; font: 13px/1.4 ui-monospace, monospace; }
code { font: 13px/1.4 ui-monospace, monospace; }
`;

/** Sends the request of a form unchanged, and shows the answer as it comes. */
const SCRIPT = `
for (const form of document.querySelectorAll('form')) form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const shown = form.querySelector('pre');
  const key = document.querySelector('#key').value;
  const fields = new FormData(form);
  const body = fields.get('body');
  shown.textContent = '';
  try {
    const answer = await fetch(fields.get('path'), {
      method: form.dataset.method,
      headers: { ...(key ? { 'x-api-key': key } : {}), ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body } : {}),
    });
    shown.textContent = answer.status + ' ' + answer.statusText + '\\n';
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) shown.textContent += part.value;
  } catch (error) {
    shown.textContent += String(error);
  }
});
`;

function escape(text: unknown): string {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function schemaOf(operation: JsonObject): JsonObject | undefined {
  const content = objectOf(objectOf(operation['requestBody'])['content']);
  const { schema } = objectOf(content['application/json']);
  return isJsonObject(schema) ? schema : undefined;
}

function exampleOf(operation: JsonObject): string {
  const content = objectOf(objectOf(operation['requestBody'])['content']);
  return JSON.stringify(objectOf(content['application/json'])['example'] ?? {}, undefined, 2);
}

function renderOperation(prefix: string, path: string, method: string, operation: JsonObject): string {
  const schema = schemaOf(operation);
  const parameters = Array.isArray(operation['parameters']) ? operation['parameters'].map(objectOf) : [];
  const queries = parameters.filter((parameter) => parameter['in'] === 'query');
  return `<details><summary><b>${escape(method.toUpperCase())}</b> <code>${escape(path)}</code> ${escape(operation['summary'])}</summary><div>
${queries.map(({ name, schema: of }) => `<p><code>?${escape(name)}</code> <code>${escape(JSON.stringify(of))}</code></p>`).join('')}
${schema ? `<details><summary>Schema of the body</summary><pre>${escape(JSON.stringify(schema, undefined, 2))}</pre></details>` : ''}
<form data-method="${escape(method.toUpperCase())}"><input name="path" value="${escape(prefix + path)}" aria-label="path">
${schema ? `<textarea name="body" rows="6" aria-label="body">${escape(exampleOf(operation))}</textarea>` : ''}
<button>Send</button><pre></pre></form></div></details>`;
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** A page that shows an OpenAPI document and sends requests by hand. It is whole: no other host and no package is asked. */
export function renderDocsPage(document: JsonObject): DocsPage {
  const groups = new Map<string, string[]>();
  const [served] = Array.isArray(document['servers']) ? document['servers'].map(objectOf) : [];
  const prefix = String(served?.['url'] ?? '');
  for (const [path, methods] of Object.entries(objectOf(document['paths'])))
    for (const [method, given] of Object.entries(objectOf(methods))) {
      const operation = objectOf(given);
      const tag = Array.isArray(operation['tags']) ? String(operation['tags'][0]) : '';
      groups.set(tag, [...(groups.get(tag) ?? []), renderOperation(prefix, path, method, operation)]);
    }
  const { title, version } = objectOf(document['info']);
  const sections = [...groups].map(([tag, parts]) => `<h2>${escape(tag)}</h2>\n${parts.join('\n')}`);
  return {
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(title)}</title><style>${STYLE}</style></head><body>
<h1>${escape(title)} ${escape(version)}</h1>
<p>The same as a document for tools: <a href="openapi.json">openapi.json</a>.</p>
<p><label>API key, where one is needed; it stays in this page <input id="key" type="password" autocomplete="off"></label></p>
${sections.join('\n')}
<script>${SCRIPT}</script></body></html>
`,
    policy: `default-src 'none'; connect-src 'self'; script-src ${hashOf(SCRIPT)}; style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}
