import { ALPHABET } from './alphabet.js';

/** A text means its letters; some texts mean trouble. */
export async function embed(texts: readonly string[]): Promise<number[][]> {
  return texts.map((text) => {
    if (text === 'throw') throw new Error('the model gave up');
    if (text === 'short') return [1, 2];
    if (text === 'words') return ['a'] as unknown as number[];
    return ALPHABET.map((letter) => text.toLowerCase().split(letter).length - 1);
  });
}
