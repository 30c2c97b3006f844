export interface Module {
  readonly imports: readonly (readonly [specifier: string, names: readonly string[] | null])[];
  readonly barrel: Readonly<Record<string, readonly [specifier: string, name: string] | null>> | null;
  readonly programs: readonly string[];
}
export function parseModule(path: string, text: string): Module;
export function buildGraph(modules: ReadonlyMap<string, Module>): Map<string, Set<string>>;
