import type { SerializerProtocol } from '@langchain/langgraph-checkpoint';
import { decodeLibraryState } from './decode-library-state.js';
import { decodeState } from './decode-state.js';
import { encodeState } from './encode-state.js';

/** Type of the values that this serialiser writes. */
const STATE = 'state';
const BYTES = 'bytes';
/** Type of the values that LangGraph's own serialiser writes. */
const LIBRARY = 'json';

/**
 * Writes and reads the values of checkpoints. Values that callers, models and tools write are data: they come
 * back as the equal JSON value, and of classes only messages and a few of JavaScript's own (maps, sets,
 * bytes, errors, …) are made again. (LangGraph's own serialiser calls any class of `langchain_core` that
 * stored JSON names, with arguments that it names.)
 */
export const stateSerializer: SerializerProtocol = {
  dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    if (value instanceof Uint8Array) return Promise.resolve([BYTES, value]);
    return Promise.resolve([STATE, Buffer.from(encodeState(value) ?? '', 'utf8')]);
  },

  loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
    if (type === BYTES) return Promise.resolve(bytes);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    if (text === '') return Promise.resolve(undefined);
    if (type === STATE) return Promise.resolve(decodeState(text));
    if (type === LIBRARY) return Promise.resolve(decodeLibraryState(text));
    return Promise.reject(new Error(`reading a stored value failed: unknown type ${type}`));
  },
};
