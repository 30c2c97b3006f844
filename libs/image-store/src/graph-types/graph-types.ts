import { SignatureKind, SymbolFlags, TypeFlags } from 'typescript-native/unstable/sync';
import type { Checker, Symbol as TypeSymbol, Type } from 'typescript-native/unstable/sync';
import type { JsonObject } from '#lib/json';
import { TypeSchemas } from './type-schema.js';

/** JSON Schemas of one graph by its types; those that its types do not show are missing. */
export interface GraphTypeSchemas {
  readonly input: JsonObject | undefined;
  readonly output: JsonObject | undefined;
  readonly state: JsonObject | undefined;
  readonly config: JsonObject | undefined;
}

/** Schemas of an agent's graphs by their types. */
export interface DescribedGraphs {
  /** Schemas by the names of `langgraph.json`. */
  readonly graphs: Readonly<Record<string, GraphTypeSchemas>>;
  /** Graphs that are nodes of others, by the name of the node. */
  readonly subgraphs: Readonly<Record<string, GraphTypeSchemas>>;
  /** Sentences about graphs whose types could not be read. */
  readonly problems: readonly string[];
}

/** Functions, promises, builders and objects around a graph. */
const MAX_WRAPPINGS = 6;

interface Fields {
  readonly types: ReadonlyMap<string, Type>;
  readonly docs: ReadonlyMap<string, string>;
}

/** Schemas of graphs by the types that the classes of LangGraph carry for them; the same code reads every release. */
export class GraphTypes {
  readonly #schemas: TypeSchemas;

  constructor(private readonly checker: Checker) {
    this.#schemas = new TypeSchemas(checker);
  }

  /** Names of fields of these graphs whose types the compiler could not find. */
  get unresolved(): readonly string[] {
    return [...this.#schemas.unresolved];
  }

  /** @returns undefined when the type is no graph's, such as that of an import that was not found */
  schemasOf(exported: Type): GraphTypeSchemas | undefined {
    const graph = this.#graphIn(exported);
    if (!graph) return undefined;
    const builder = this.#memberOf(graph, 'builder');
    const channels = (name: string, values: 'ValueType' | 'UpdateType'): Fields | undefined => {
      const definition = builder && this.#memberOf(builder, name);
      // `_configSchema` may be undefined at run time
      const given = definition && this.checker.getNonNullableType(definition);
      return given && this.#fieldsOfChannels(given, values);
    };
    const plain = (...names: readonly string[]): Fields | undefined =>
      names.map((name) => this.#fieldsOf(this.#memberOf(graph, name))).find((found) => found !== undefined);
    const input = channels('_inputDefinition', 'UpdateType') ?? plain('~InputType', '~RunInput');
    const output = channels('_outputDefinition', 'ValueType') ?? plain('~OutputType', '~RunOutput');
    // `RunInput` of releases before 1.0 is the state that nodes get
    const state = plain('~RunOutput', 'RunInput', '~OutputType') ?? output;
    const config = channels('_configSchema', 'UpdateType');
    const render = (fields: Fields | undefined) => fields && this.#schemas.rootOf(fields.types, fields.docs);
    // a graph of the functional API has no builder, and any input
    if (builder && !input && !output && !state) return undefined;
    return { input: render(input), output: render(output), state: render(state), config: render(config) };
  }

  /** Schemas of a graph that is a node of another; undefined for other kinds of nodes. */
  schemasOfNode(node: Type): GraphTypeSchemas | undefined {
    return this.#isGraph(node) ? this.schemasOf(node) : undefined;
  }

  /** The compiled graph in a builder, a factory, a promise or an agent. */
  #graphIn(exported: Type): Type | undefined {
    let type = exported;
    for (let turn = 0; turn < MAX_WRAPPINGS; turn++) {
      if (type.flags & (TypeFlags.Any | TypeFlags.Unknown | TypeFlags.Never)) return undefined;
      const inner = this.#returnOf(type) ?? this.#promisedBy(type) ?? this.#compiledFrom(type);
      if (!inner) break;
      type = inner;
    }
    if (this.#isGraph(type)) return type;
    const wrapped = this.#memberOf(type, 'graph');
    return wrapped && this.#isGraph(wrapped) ? wrapped : undefined;
  }

  /** True for compiled graphs, by members of every release: the first ones have no mark of their own. */
  #isGraph(type: Type): boolean {
    return ['nodes', 'channels', 'streamMode', 'checkpointer'].every(
      (name) => this.#memberOf(type, name) !== undefined,
    );
  }

  #returnOf(type: Type): Type | undefined {
    const [signature] = this.checker.getSignaturesOfType(type, SignatureKind.Call);
    return signature && this.checker.getReturnTypeOfSignature(signature);
  }

  #promisedBy(type: Type): Type | undefined {
    if (type.getSymbol()?.name !== 'Promise' || !type.isObjectType() || !type.isTypeReference())
      return undefined;
    return this.checker.getTypeArguments(type)[0];
  }

  #compiledFrom(type: Type): Type | undefined {
    const compile = this.#memberOf(type, 'compile');
    return compile && this.#returnOf(compile);
  }

  #memberOf(type: Type, name: string): Type | undefined {
    const member = this.checker.getPropertyOfType(type, name);
    return member && this.checker.getTypeOfSymbol(member);
  }

  /** Fields of a state that channels define; undefined where something else defines it, such as a Zod object. */
  #fieldsOfChannels(definition: Type, values: 'ValueType' | 'UpdateType'): Fields | undefined {
    if (definition.flags & (TypeFlags.Any | TypeFlags.Never)) return undefined;
    const members = this.checker.getPropertiesOfType(definition);
    const types = new Map<string, Type>();
    for (const member of members) {
      const channel = this.checker.getTypeOfSymbol(member);
      const found = channel && this.#memberOf(this.#returnOf(channel) ?? channel, values);
      if (!found) return undefined;
      types.set(member.name, found);
    }
    return { types, docs: this.#docsOf(members) };
  }

  #fieldsOf(type: Type | undefined): Fields | undefined {
    if (!type || !(type.flags & (TypeFlags.Object | TypeFlags.Intersection))) return undefined;
    const members = this.checker
      .getPropertiesOfType(type)
      .filter(({ name, flags }) => !name.startsWith('__@') && !(flags & SymbolFlags.Method));
    if (members.length === 0) return undefined;
    const types = members.flatMap((member) => {
      const found = this.checker.getTypeOfSymbol(member);
      return found ? [[member.name, found] as const] : [];
    });
    return { types: new Map(types), docs: this.#docsOf(members) };
  }

  #docsOf(members: readonly TypeSymbol[]): ReadonlyMap<string, string> {
    const docs = members.map(({ name }, at) => {
      const member = members[at];
      return [name, member ? this.checker.getDocumentationCommentOfSymbol(member) : ''] as const;
    });
    return new Map(docs.filter(([, text]) => text !== ''));
  }
}
