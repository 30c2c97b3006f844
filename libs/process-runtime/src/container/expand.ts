/** Limit, more than any operating system hands to a process in variables and arguments. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** Thrown when a specification expands to more than a process can be given. */
export class ExpansionError extends Error {
  override readonly name = 'ExpansionError';
}

/**
 * Expands `$(NAME)` as Kubernetes does in values, commands and arguments: `$$(NAME)` stays `$(NAME)`, an unknown name
 * stays as it is, also one that every object of JavaScript has (`constructor`).
 *
 * One for each container: what is expanded may be expanded again, so that few lines of a specification can ask for more
 * text than the node, which serves all workspaces, has memory for.
 */
export class Expander {
  #left: number;

  constructor(mostCharacters = MOST_CHARACTERS) {
    this.#left = mostCharacters;
  }

  /** @throws ExpansionError when this container's texts have become too long together */
  expand(text: string, variables: Readonly<Record<string, string>>): string {
    return text.replace(/\$(\$|\(([^()]*)\))/g, (whole, rest: string, name: string | undefined) => {
      if (rest === '$') return '$';
      const value = name !== undefined && Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (value === undefined) return whole;
      this.#take(value.length, `variables put in by ${whole}`);
      return value;
    });
  }

  /**
   * Counts a variable whose value the specification only names: fifty thousand of them may use one key.
   * @throws ExpansionError like `expand`
   */
  count(name: string, value: string): void {
    this.#take(name.length + value.length, `variable ${name}`);
  }

  #take(characters: number, what: string): void {
    this.#left -= characters;
    if (this.#left >= 0) return;
    throw new ExpansionError(
      `${what} and before make more text than a process can be given; shorten what they expand to`,
    );
  }
}
