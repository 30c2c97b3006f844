/** One column of a tree table: its heading, its cell for a resource, and its cell for what belongs to a resource. */
export interface TreeColumn<Parent, Child> {
  readonly heading: string;
  readonly parent: (item: Parent) => string;
  readonly child: (item: Child) => string;
}

export function headingsOf(columns: readonly TreeColumn<never, never>[]): readonly string[] {
  return columns.map(({ heading }) => heading);
}
