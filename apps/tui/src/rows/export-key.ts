/** What an export is remembered by. */
export function exportKey({
  name,
  namespace = '',
}: {
  readonly name: string;
  readonly namespace?: string;
}): string {
  return `export ${namespace}/${name}`;
}
