/** Project that a run belongs to; without one it is the project `default`. */
export type ProjectReference =
  { readonly kind: 'id'; readonly id: string } | { readonly kind: 'name'; readonly name: string };
