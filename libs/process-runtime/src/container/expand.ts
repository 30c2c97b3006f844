/**
 * Expands `$(NAME)` as Kubernetes does in values, commands and arguments: `$$(NAME)` stays `$(NAME)`, an unknown name
 * stays as it is, also one that every object of JavaScript has (`constructor`).
 */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$|\(([^()]*)\))/g, (whole, rest: string, name: string | undefined) => {
    if (rest === '$') return '$';
    return name !== undefined && Object.hasOwn(variables, name) ? (variables[name] ?? whole) : whole;
  });
}
