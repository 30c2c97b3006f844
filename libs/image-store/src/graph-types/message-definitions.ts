import type { JsonObject } from '#lib/json';

/** Reference to any message of LangChain in a schema that has `MESSAGE_DEFINITIONS`. */
export const MESSAGE_REF = '#/definitions/BaseMessage';

const TEXT: JsonObject = { type: 'string' };
const ANY_OBJECT: JsonObject = { type: 'object', additionalProperties: {} };

const COMMON: JsonObject = {
  id: TEXT,
  name: TEXT,
  content: {
    anyOf: [TEXT, { type: 'array', items: { type: 'object', properties: { type: TEXT } } }],
  },
  additional_kwargs: ANY_OBJECT,
  response_metadata: ANY_OBJECT,
};

const TOOL_CALLS: JsonObject = {
  type: 'array',
  items: { type: 'object', properties: { id: TEXT, name: TEXT, args: ANY_OBJECT } },
};

/** Class of a message, its `type` on the wire, and its fields beside the common ones. */
const CLASSES: readonly (readonly [name: string, type: string, fields: JsonObject])[] = [
  ['HumanMessage', 'human', {}],
  ['AIMessage', 'ai', { tool_calls: TOOL_CALLS, invalid_tool_calls: TOOL_CALLS, usage_metadata: ANY_OBJECT }],
  ['SystemMessage', 'system', {}],
  [
    'ToolMessage',
    'tool',
    { tool_call_id: TEXT, status: { type: 'string', enum: ['success', 'error'] }, artifact: {} },
  ],
  ['FunctionMessage', 'function', {}],
  ['ChatMessage', 'generic', { role: TEXT }],
  ['RemoveMessage', 'remove', {}],
];

const CHUNK: JsonObject = { type: 'object', properties: { type: TEXT, ...COMMON } };

/**
 * Messages as they are on the wire, by the names under which the vendor's server answers LangChain's classes. They are the
 * same for every release, where the members of the classes are not.
 */
export const MESSAGE_DEFINITIONS: JsonObject = {
  BaseMessage: {
    description: 'Base class for all types of messages in a conversation.',
    oneOf: [...CLASSES.map(([name]) => name), 'BaseMessageChunk'].map((name) => ({
      $ref: `#/definitions/${name}`,
    })),
  },
  ...Object.fromEntries(
    CLASSES.map(([name, type, fields]) => [
      name,
      { type: 'object', properties: { type: { type: 'string', enum: [type] }, ...COMMON, ...fields } },
    ]),
  ),
  BaseMessageChunk: CHUNK,
};
