/** Namespaces as their users call them: by the names of their workspaces. */
export function workspaceNames(namespaces: readonly string[]): string {
  return namespaces.map((one) => one.replace(/^ws-/, '')).join(', ');
}
