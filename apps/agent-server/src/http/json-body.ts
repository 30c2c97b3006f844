import { PublicError } from '#lib/errors';
import {
  findingJsonTrouble,
  findInvalidUtf8,
  inTurns,
  type JsonRules,
  type JsonTrouble,
  parseJson,
  parsingJson,
  renderTrouble,
} from '#lib/json';

/** Levels of lists and objects. */
const MAX_DEPTH = 128;

/** Longer texts are parsed in pieces, which takes several times as long but does not block other requests. */
const PARSED_AT_ONCE = 256 * 1024;

const RULES: JsonRules = {
  maxDepth: MAX_DEPTH,
  /** Some 70 MB once they are parsed, and a text of three: more of the same bytes would take twenty times their length. */
  maxValues: 1_000_000,
  /**
   * Some 0.6 CPU seconds of a graph host: the libraries of tracing walk through inputs and outputs twice, in one step, and
   * all other runs of the host wait. Documents and numbers have few members.
   */
  maxMembers: 50_000,
  /** Inputs of graphs and the store, and values to search for: data of callers, kept as JSON has it. */
  payload: new Set([
    'input',
    'command',
    'values',
    'context',
    'value',
    'filter',
    // the same by MCP, A2A and the thread stream protocol
    'params.arguments',
    'params.message.parts.data',
    'params.input',
    'params.response',
    'params.responses.response',
    'params.update',
  ]),
  /** Kept as JSON has them, in configurations; metadata hold U+FFFD in their place, as their store has no such texts. */
  allowInStrings: ['nul', 'surrogate'],
};

const TYPES: Readonly<Record<JsonTrouble['kind'], string>> = {
  depth: 'too_deep',
  count: 'too_many_values',
  members: 'too_many_values',
  duplicate: 'duplicate_name',
  nul: 'nul_character',
  surrogate: 'lone_surrogate',
  prototype: 'reserved_name',
};

/**
 * JSON of a body; undefined for none, as many clients send a JSON content type without one. Outside of
 * payloads a text is refused that could be checked as one value and stored as another. A body may have
 * megabytes: other requests proceed meanwhile.
 * @param onValues called before it is parsed, with how many values it holds
 * @throws PublicError `invalid`, `bad_request`
 */
export async function parseJsonBody(bytes: Buffer, onValues?: (values: number) => void): Promise<unknown> {
  if (bytes.length === 0) return undefined;
  const invalidAt = findInvalidUtf8(bytes);
  if (invalidAt !== undefined)
    throw new PublicError(
      'bad_request',
      `The body is not UTF-8: byte ${invalidAt} belongs to no character; send UTF-8`,
    );
  const text = bytes.toString('utf8');
  const trouble = await inTurns(findingJsonTrouble(text, onValues ? { ...RULES, onValues } : RULES));
  if (trouble) throw refusal(trouble);
  try {
    if (text.length <= PARSED_AT_ONCE) return parseJson(text);
    return await inTurns(parsingJson(bytes, text, MAX_DEPTH));
  } catch {
    throw new PublicError('bad_request', 'The body is not a JSON document');
  }
}

function refusal(trouble: JsonTrouble): PublicError {
  const isDeep = trouble.kind === 'depth';
  return new PublicError('invalid', 'the body is not valid', [
    {
      loc: ['body', ...(isDeep ? [] : trouble.path)],
      msg: wordsOf(trouble),
      type: TYPES[trouble.kind],
    },
  ]);
}

function wordsOf(trouble: JsonTrouble): string {
  if (trouble.kind === 'depth') return `must not nest deeper than ${MAX_DEPTH} levels`;
  if (trouble.kind === 'count')
    return `must not hold more than ${RULES.maxValues} items and members of lists and objects; send fewer, or several of them as one text`;
  if (trouble.kind === 'members')
    return `must not hold more than ${RULES.maxMembers} members of objects; send fewer, or several of them as one text`;
  return renderTrouble(trouble);
}
