import type { KubeClient } from '#lib/kube';
import { CONFIG_MAPS, type EnvironmentVariable, type Pod, type PodContainer, SECRETS } from '#lib/resources';
import { ContainerConfigError, fieldOf, ownValue } from '../pod-values/pod-field.js';

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

type Values = Readonly<Record<string, string>>;

/**
 * The variables that a container's spec asks for, in Kubernetes' order: `envFrom`, then `env`, later ones winning.
 * @throws ContainerConfigError when a Secret, ConfigMap or key that is not optional is missing
 * @throws ExpansionError
 */
export async function resolveEnvironment(
  references: References,
  pod: Pod,
  container: PodContainer,
  expander: Expander,
): Promise<Record<string, string>> {
  await references.read(container);
  const resolved: Record<string, string> = {};
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    if (secretRef) add(await references.secret(secretRef.name, secretRef.optional));
    if (configMapRef) add(await references.configMap(configMapRef.name, configMapRef.optional));
    function add(values: Values): void {
      for (const [name, value] of Object.entries(values)) put(`${prefix}${name}`, value);
    }
  }
  for (const variable of container.env ?? []) {
    const value = await valueOf(variable, pod, references);
    if (value === undefined) continue;
    if (variable.valueFrom) put(variable.name, value);
    else resolved[variable.name] = expander.expand(value, resolved);
  }
  return resolved;

  function put(name: string, value: string): void {
    expander.count(name, value);
    resolved[name] = value;
  }
}

async function valueOf(
  { name, value, valueFrom }: EnvironmentVariable,
  pod: Pod,
  references: References,
): Promise<string | undefined> {
  if (!valueFrom) return value ?? '';
  const { secretKeyRef, configMapKeyRef, fieldRef } = valueFrom;
  if (secretKeyRef) return references.secretKey(secretKeyRef);
  if (configMapKeyRef) return references.configMapKey(configMapKeyRef);
  if (fieldRef) return fieldOf(pod, fieldRef.fieldPath);
  throw new ContainerConfigError(
    `environment variable ${name}: its source is not supported by the process runtime`,
  );
}

/** Objects read at once; a container may name a hundred. */
const AT_ONCE = 8;

/** Reads each Secret and ConfigMap once, by name: a node may not list them. */
export class References {
  readonly #known = new Map<string, Promise<Values | undefined>>();
  /** Objects that were not there, or could not be read. */
  readonly #missing = new Set<string>();

  constructor(
    private readonly client: Pick<KubeClient, 'find'>,
    private readonly namespace: string,
  ) {}

  /** Begins to read the first of what `read` reads, before it is asked for. */
  begin(container: PodContainer): void {
    for (const read of this.#readsOf(container).slice(0, AT_ONCE)) read().catch(() => undefined);
  }

  /** Reads what the variables of a container name, several at once. A failure is that of the variable that needs it. */
  async read(container: PodContainer): Promise<void> {
    // objects may have been made since they were read ahead
    for (const id of this.#missing) this.#known.delete(id);
    const reads = this.#readsOf(container);
    for (let at = 0; at < reads.length; at += AT_ONCE)
      await Promise.allSettled(reads.slice(at, at + AT_ONCE).map((read) => read()));
  }

  #readsOf({ env = [], envFrom = [] }: PodContainer): readonly (() => Promise<unknown>)[] {
    const sources = [
      ...envFrom.map(({ secretRef, configMapRef }) => ({ secret: secretRef, configMap: configMapRef })),
      ...env.map(({ valueFrom }) => ({
        secret: valueFrom?.secretKeyRef,
        configMap: valueFrom?.configMapKeyRef,
      })),
    ];
    const secrets = new Set(sources.flatMap(({ secret }) => secret?.name ?? []));
    const configMaps = new Set(sources.flatMap(({ configMap }) => configMap?.name ?? []));
    return [
      ...[...secrets].map((name) => () => this.#findSecret(name)),
      ...[...configMaps].map((name) => () => this.#findConfigMap(name)),
    ];
  }

  async secret(name: string, optional = false): Promise<Values> {
    return required(await this.#findSecret(name), `Secret ${name} not found; create it`, optional) ?? {};
  }

  async configMap(name: string, optional = false): Promise<Values> {
    return (
      required(await this.#findConfigMap(name), `ConfigMap ${name} not found; create it`, optional) ?? {}
    );
  }

  async secretKey({ name, key, optional = false }: KeyReference): Promise<string | undefined> {
    const values = await this.#findSecret(name);
    return required(ownValue(values, key), `Secret ${name} has no key ${key}`, optional);
  }

  async configMapKey({ name, key, optional = false }: KeyReference): Promise<string | undefined> {
    const values = await this.#findConfigMap(name);
    return required(ownValue(values, key), `ConfigMap ${name} has no key ${key}`, optional);
  }

  #findSecret(name: string): Promise<Values | undefined> {
    return this.#once(`secret/${name}`, async () => {
      const found = await this.client.find(SECRETS, { namespace: this.namespace, name });
      if (!found) return undefined;
      const entries = Object.entries(found.data ?? {});
      return Object.fromEntries(
        entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
      );
    });
  }

  #findConfigMap(name: string): Promise<Values | undefined> {
    return this.#once(`configMap/${name}`, async () => {
      const found = await this.client.find(CONFIG_MAPS, { namespace: this.namespace, name });
      return found && { ...found.data };
    });
  }

  #once(id: string, read: () => Promise<Values | undefined>): Promise<Values | undefined> {
    const known = this.#known.get(id);
    if (known) return known;
    const found = read();
    this.#known.set(id, found);
    const missing = (): unknown => this.#missing.add(id);
    found.then((values) => values ?? missing(), missing);
    return found;
  }
}

interface KeyReference {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

function required<T>(found: T | undefined, problem: string, optional: boolean): T | undefined {
  if (found === undefined && !optional) throw new ContainerConfigError(problem);
  return found;
}
