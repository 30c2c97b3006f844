import { isJsonObject } from '#lib/json';
import { wireJson } from '../wire/wire-value.js';
import { eventName, type Render } from './run-event.js';

/** The mode `messages-tuple`: each token of a model with its metadata. */
export function tokenRenderer(): Render {
  // The metadata of a model's call is one object for all its tokens.
  const metadataJson = new WeakMap<object, string>();
  return ({ payload, namespace }) => {
    if (!Array.isArray(payload)) return [];
    const [message, metadata]: unknown[] = payload;
    if (!isJsonObject(metadata)) return [];
    let text = metadataJson.get(metadata);
    if (text === undefined) {
      text = wireJson({ ...metadata, graph_node: metadata['langgraph_node'] });
      metadataJson.set(metadata, text);
    }
    return [{ event: eventName('messages', namespace), data: `[${wireJson(message)},${text}]` }];
  };
}
