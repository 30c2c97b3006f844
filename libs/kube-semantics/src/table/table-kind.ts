import type { KubeObject } from '../object/kube-object.js';

export type Cell = string | number | bigint | boolean | null;

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** Table of one kind's objects in `kubectl get`. */
export interface TableKind {
  readonly columns: readonly TableColumn[];
  cells(object: KubeObject, now: Date): readonly Cell[];
}

/** Columns from short notes: a name, `+` in front for `-o wide` only, `#` in front for whole numbers. */
export function columns(...names: readonly string[]): readonly TableColumn[] {
  return names.map((note) => {
    const name = note.replace(/^[+#]+/, '');
    return {
      name,
      type: note.includes('#') ? 'integer' : 'string',
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority: note.startsWith('+') ? 1 : 0,
    };
  });
}
