import { isJsonObject, type JsonObject } from '#lib/json';
import { CODE, RpcError } from './json-rpc-lines.js';

function refused(found: string): RpcError {
  return new RpcError(CODE.invalidParams, `prompt: ${found}`);
}

function blockOf(block: unknown): JsonObject {
  if (!isJsonObject(block)) throw refused('each part must be an object');
  const { type, text, uri, name, data, mimeType, resource } = block;
  if (type === 'text' && typeof text === 'string') return { type, text };
  if (type === 'resource_link') return { type: 'text', text: `[${String(name ?? uri)}](${String(uri)})` };
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return { type, source_type: 'base64', data, mime_type: mimeType };
  if (type !== 'resource' || !isJsonObject(resource))
    throw refused(`parts of type ${String(type)} are not taken`);
  const { uri: place, text: content, blob, mimeType: kind } = resource;
  if (typeof content === 'string') return { type: 'text', text: `${String(place)}:\n${content}` };
  if (typeof blob !== 'string') throw refused('a resource must have text or blob');
  const mime_type = typeof kind === 'string' ? kind : 'application/octet-stream';
  return {
    type: 'file',
    source_type: 'base64',
    data: blob,
    mime_type,
    metadata: { filename: String(place) },
  };
}

/** A prompt as content of a message: one text as it is, other parts as blocks. @throws RpcError */
export function contentOf(prompt: unknown): string | readonly JsonObject[] {
  if (!Array.isArray(prompt) || prompt.length === 0) throw refused('must be a list of parts');
  const blocks = prompt.map(blockOf);
  const [first] = blocks;
  return blocks.length === 1 && typeof first?.['text'] === 'string' ? first['text'] : blocks;
}

/** Text of a prompt, where a question is to be answered. */
export function textOf(content: string | readonly JsonObject[]): string {
  if (typeof content === 'string') return content;
  return content.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}
