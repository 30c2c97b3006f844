import { errorText } from '#lib/errors';
import { KubeApiError } from '#lib/kube';

/**
 * Failures on objects that a tenant can break. They are that tenant's trouble: the platform names them, and
 * starts for everybody else.
 */
export class Troubles {
  readonly #texts: string[] = [];

  get texts(): readonly string[] {
    return this.#texts;
  }

  add(text: string): void {
    this.#texts.push(text);
  }

  /**
   * @param object kind, namespace and name
   * @throws errors that are no answer of the API server about this object
   */
  async attempt(object: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof KubeApiError)) throw error;
      this.add(`preparing ${object} failed: ${errorText(error)}; mend or delete that object, then restart`);
    }
  }
}
