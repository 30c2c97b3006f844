import { isJsonObject, type JsonObject, parseShort } from '#lib/json';

/** The parts of a state on the wire. */
export const STATE_FIELDS: readonly string[] = [
  'values',
  'next',
  'tasks',
  'metadata',
  'created_at',
  'checkpoint',
  'parent_checkpoint',
  'interrupts',
];

/** Names of parts, and `values.KEY` for one of the values; all of a state without any. */
export type StateSelection = readonly string[];

const OF_VALUES = 'values.';

export function isStateField(name: string): boolean {
  return STATE_FIELDS.includes(name) || (name.startsWith(OF_VALUES) && name.length > OF_VALUES.length);
}

/** The values that were requested individually. */
export function keysOf(select: StateSelection): string[] {
  return select.flatMap((name) => (name.startsWith(OF_VALUES) ? [name.slice(OF_VALUES.length)] : []));
}

/** The requested parts of a state. A value that the state does not have is left out. */
export function selectedState(state: JsonObject, select: StateSelection | undefined): JsonObject {
  if (!select || select.length === 0) return state;
  const keys = keysOf(select);
  const found = Object.entries(state).filter(([name]) => select.includes(name));
  const { values } = state;
  if (keys.length === 0 || select.includes('values')) return Object.fromEntries(found);
  const chosen = isJsonObject(values) ? Object.entries(values).filter(([key]) => keys.includes(key)) : [];
  return Object.fromEntries([['values', Object.fromEntries(chosen)], ...found]);
}

/** Limit of a checkpoint's names. */
const MAX_HEAD_CHARS = 1024 * 1024;

/** State after a change from outside. */
export interface UpdatedState {
  readonly checkpoint: JsonObject | null;
  readonly hasNext: boolean;
  /** JSON text of all values. */
  readonly values: string;
  /** JSON text of lists of questions, by the tasks that ask. */
  readonly interrupts: string;
}

/** Large texts are on separate lines, so that printing them needs no parsing: JSON has no line ends. */
export function renderUpdated({ values, interrupts, ...head }: UpdatedState): string {
  return `${JSON.stringify(head)}\n${interrupts}\n${values}`;
}

export function parseUpdated(text: string): UpdatedState {
  const headEnd = text.indexOf('\n');
  const interruptsEnd = text.indexOf('\n', headEnd + 1);
  const head = parseShort(text.slice(0, headEnd), MAX_HEAD_CHARS) as Pick<
    UpdatedState,
    'checkpoint' | 'hasNext'
  >;
  return {
    ...head,
    interrupts: text.slice(headEnd + 1, interruptsEnd),
    values: text.slice(interruptsEnd + 1),
  };
}

/** A state to read. The server has checked that the caller reaches the thread. */
export interface StatePlace {
  readonly graphId: string;
  readonly threadId: string;
  /** Configuration of the assistant that the thread is used with. */
  readonly configurable: JsonObject;
  /** An earlier state, or one of a subgraph; undefined for the newest. */
  readonly checkpoint?: JsonObject | undefined;
}

export interface StateQuestion extends StatePlace {
  readonly subgraphs: boolean;
  readonly select?: StateSelection | undefined;
}

export interface HistoryQuestion extends StatePlace {
  readonly limit: number;
  readonly before?: JsonObject | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly select?: StateSelection | undefined;
}

/** Write of one node. */
export interface StateWrite {
  readonly values?: unknown;
  /** Instead of values. */
  readonly command?: JsonObject | undefined;
  readonly asNode?: string | undefined;
}

export interface UpdateQuestion extends StatePlace {
  /** One after the other; the writes of a step are made at once. */
  readonly steps: readonly (readonly StateWrite[])[];
}

/** The values of a state alone, with the place of its checkpoint, as the thread stream protocol has them. */
export interface ValuesQuestion extends StatePlace {
  /** Some of them; undefined for all. */
  readonly keys?: readonly string[] | undefined;
}

export interface DrawingQuestion {
  readonly graphId: string;
  /** Subgraphs too, or that many levels of them. */
  readonly xray: boolean | number;
}

export interface SchemasQuestion {
  readonly graphId: string;
}

export interface SubgraphsQuestion {
  readonly graphId: string;
  readonly namespace?: string | undefined;
  readonly recurse: boolean;
}

/** Texts to be made vectors by the model of the agent's store. */
export interface EmbedQuestion {
  readonly texts: readonly string[];
  /** One text, that is searched for; the answer is one vector. */
  readonly isQuery: boolean;
}

/** A run whose priority the agent's own function assigns, in the words of `PriorityContext` of LangGraph's SDK. */
export interface PriorityQuestion {
  /** Its `identity` is empty without authentication. */
  readonly user: JsonObject;
  readonly permissions: readonly string[];
  /** Null when the run makes its thread without being given an id. */
  readonly thread_id: string | null;
  readonly thread_metadata: JsonObject;
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly assistant_metadata: JsonObject;
  readonly run_metadata: JsonObject;
  readonly cron_id: string | null;
}

/**
 * Questions about graphs and states. Each is answered with a JSON text: the body of the HTTP answer, except
 * for `update` (an `UpdatedState`).
 */
export interface Questions {
  readonly state: StateQuestion;
  readonly values: ValuesQuestion;
  readonly history: HistoryQuestion;
  readonly update: UpdateQuestion;
  readonly drawing: DrawingQuestion;
  readonly schemas: SchemasQuestion;
  readonly subgraphs: SubgraphsQuestion;
  readonly embed: EmbedQuestion;
  readonly priority: PriorityQuestion;
}

export type QuestionKind = keyof Questions;

/** A request whose caller is to be authenticated; its body has not arrived. */
export interface CallerQuestion {
  readonly method: string;
  /** `http://host:port`, as the client named it. */
  readonly base: string;
  /** Path and query as the client wrote them: the server's router and an app read them so. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Parts of the path by their names in the route. */
  readonly params: JsonObject;
}

export interface AccessQuestion {
  /** `resource:action` */
  readonly event: string;
  /** The event of the handler that decides, which may cover others. */
  readonly handler: string;
  readonly user: JsonObject;
  /** True when the caller is a studio; no field of a user records that. */
  readonly isStudio: boolean;
  readonly value: JsonObject;
}

/**
 * Questions to an agent's own `Auth` in a separate process: its handlers, the identity of a caller, and the
 * rights of that caller.
 */
export interface HandlerQuestions {
  readonly handlers: JsonObject;
  readonly authenticate: CallerQuestion;
  readonly authorize: AccessQuestion;
}

/** Question to an agent's HTTP app in Python: the requests that may reach it. */
export interface AppQuestions {
  readonly paths: JsonObject;
}

/** All questions to processes of an agent. */
export interface AskedQuestions extends Questions, HandlerQuestions, AppQuestions {}
