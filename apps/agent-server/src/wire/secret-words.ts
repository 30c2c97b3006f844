/** Shorter words would be found in ordinary text. */
const SHORTEST = 6;

function partsOf(secret: string): string[] {
  try {
    const { password } = new URL(secret);
    return [secret, password, decodeURIComponent(password)];
  } catch {
    return [secret]; // no URI
  }
}

/** Takes the server's own secrets out of texts that leave it: drivers like to put connection strings into errors. */
export class SecretWords {
  readonly #words: readonly string[];

  /** @param secrets keys and URIs; of a URI the password alone counts too */
  constructor(secrets: readonly (string | undefined)[]) {
    const words = secrets.flatMap((secret) => (secret === undefined ? [] : partsOf(secret)));
    // longest first: a password may be a part of its URI
    this.#words = [...new Set(words)]
      .filter((word) => word.length >= SHORTEST)
      .sort((one, other) => other.length - one.length);
  }

  hide(text: string): string {
    let shown = text;
    for (const word of this.#words) if (shown.includes(word)) shown = shown.replaceAll(word, '[hidden]');
    return shown;
  }
}
