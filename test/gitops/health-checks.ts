import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { evaluate } from '@marcbachmann/cel-js';
import { type LuaEngine, LuaFactory } from 'wasmoon';
import { parse } from 'yaml';
import { repository } from '../support/platform.js';

const FOLDER = join(repository, 'deploy', 'gitops');

/** An object of the API server, of which health checks see everything. */
export interface Checked {
  readonly metadata: { readonly generation?: number; readonly deletionTimestamp?: string };
  readonly spec?: object;
  readonly status?: { readonly observedGeneration?: number };
}

/** A value as Lua's source text. */
function luaText(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (Array.isArray(value)) return `{${value.map(luaText).join(',')}}`;
  if (typeof value === 'object') {
    const members = Object.entries(value).map(
      ([name, member]) => `[${JSON.stringify(name)}]=${luaText(member)}`,
    );
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** The scripts for Argo CD, run by Lua. */
export class ArgoHealth {
  readonly #scripts: ReadonlyMap<string, string>;
  #lua: LuaEngine | undefined;

  constructor() {
    const { data } = parse(readFileSync(join(FOLDER, 'argo-cd.yaml'), 'utf8')) as {
      data: Readonly<Record<string, string>>;
    };
    const prefix = 'resource.customizations.health.agentplane.dev_';
    this.#scripts = new Map(Object.entries(data).map(([key, text]) => [key.replace(prefix, ''), text]));
  }

  get kinds(): readonly string[] {
    return [...this.#scripts.keys()];
  }

  async open(): Promise<void> {
    // as in Argo CD, without the libraries of the system
    this.#lua = await new LuaFactory().createEngine({ openStandardLibs: true, injectObjects: false });
    this.#lua.doStringSync('os, io, debug, package, require = nil, nil, nil, nil, nil');
  }

  close(): void {
    this.#lua?.global.close();
  }

  /** Healthy, Progressing, Degraded or Suspended. */
  of(kind: string, object: Checked): string {
    const script = this.#scripts.get(kind) ?? 'return { status = "no script" }';
    const said: unknown = this.#lua?.doStringSync(
      `local function check(obj)\n${script}\nend\nlocal hs = check(${luaText(object)})\nreturn hs.status`,
    );
    return String(said);
  }
}

interface Expressions {
  readonly kind: string;
  readonly inProgress: string;
  readonly failed: string;
  readonly current: string;
}

/** The expressions for Flux, in the order and with the observed generation that Flux looks at itself. */
export class FluxHealth {
  readonly #expressions: readonly Expressions[];

  constructor() {
    const { spec } = parse(readFileSync(join(FOLDER, 'flux.yaml'), 'utf8')) as {
      spec: { healthCheckExprs: readonly Expressions[] };
    };
    this.#expressions = spec.healthCheckExprs;
  }

  get kinds(): readonly string[] {
    return this.#expressions.map(({ kind }) => kind);
  }

  /** Current, InProgress or Failed. Kinds that nobody writes into a repository have the expressions of the others. */
  of(kind: string, object: Checked): string {
    const { metadata, status } = object;
    const observed = status?.observedGeneration;
    if (observed !== undefined && metadata.generation !== undefined && observed !== metadata.generation)
      return 'InProgress';
    const found = this.#expressions.find((each) => each.kind === kind) ?? this.#expressions[0];
    const holds = (expression = ''): boolean => evaluate(expression, { ...object }) === true;
    if (holds(found?.inProgress)) return 'InProgress';
    if (holds(found?.failed)) return 'Failed';
    return holds(found?.current) ? 'Current' : 'InProgress';
  }
}
