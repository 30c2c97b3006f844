/** Reads an option that takes one of a few words. */
export function oneOf<const W extends string>(words: readonly W[]): (text: string) => W {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found === undefined) throw new Error(`Allowed choices are ${words.join(', ')}.`);
    return found;
  };
}
