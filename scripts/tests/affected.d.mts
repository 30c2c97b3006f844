export interface Plan {
  readonly selected: readonly (readonly string[])[];
  readonly ring: readonly string[];
  readonly left: readonly string[];
  readonly borders: number;
  readonly servers: boolean;
  readonly global: readonly string[];
  readonly unread: readonly string[];
}
export function planSpecs(
  sources: ReadonlyMap<string, string>,
  graph: ReadonlyMap<string, ReadonlySet<string>>,
  changed: readonly string[],
  options: { readonly durations?: Readonly<Record<string, number>>; readonly maxSeconds: number },
): Plan;
