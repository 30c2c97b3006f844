import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { readJson, writeJson } from '#lib/data-folder';

/** Namespaces of each API server, by its address. */
interface FavouriteFile {
  readonly favourites: Readonly<Record<string, readonly string[]>>;
}

/** Namespaces that the first number keys show, of one API server, in a file of the user's settings. */
export class Favourites {
  readonly #path: string;
  readonly #server: string;
  #namespaces: readonly string[];

  constructor(path: string, server: string) {
    this.#path = path;
    this.#server = server;
    this.#namespaces = this.#read().favourites[server] ?? [];
  }

  list(): readonly string[] {
    return this.#namespaces;
  }

  /** Adds a namespace at the end, or removes it. @returns its number, undefined for one that was removed */
  toggle(namespace: string): number | undefined {
    const others = this.#namespaces.filter((one) => one !== namespace);
    this.#namespaces = others.length < this.#namespaces.length ? others : [...others, namespace];
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    // another dashboard may have changed those of another server meanwhile
    writeJson(this.#path, { favourites: { ...this.#read().favourites, [this.#server]: this.#namespaces } });
    return this.#namespaces.indexOf(namespace) + 1 || undefined;
  }

  #read(): FavouriteFile {
    return readJson<FavouriteFile>(this.#path) ?? { favourites: {} };
  }
}
