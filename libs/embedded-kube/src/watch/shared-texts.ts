import type { StoredObject } from '../store/stored-object.js';

/** Of one object: a client could ask for ever new ones, of other moments for instance. */
const MAX_FORMS = 8;

/**
 * Texts of the latest object that watches were sent: a large one takes tens of milliseconds to print, and hundreds of
 * watches want the same text of it. Nothing of the objects before is kept.
 */
export class SharedTexts {
  #of: StoredObject | undefined;
  readonly #texts = new Map<string, string>();

  /** @param form says in all how the object is shown: equal forms are equal texts */
  get(stored: StoredObject, form: string, print: () => string): string {
    const known = this.#of === stored ? this.#texts.get(form) : undefined;
    if (known !== undefined) return known;
    if (this.#of !== stored || this.#texts.size >= MAX_FORMS) this.#texts.clear();
    this.#of = stored;
    const text = print();
    this.#texts.set(form, text);
    return text;
  }
}
