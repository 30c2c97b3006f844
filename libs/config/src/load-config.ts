import type { Field } from './field.js';

/** The frozen value that `loadConfig` makes of a table of fields. */
export type Config<F extends Record<string, Field<unknown>>> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** All settings that are missing or wrong, in one message; the program should print it and exit with 2. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/**
 * Parses a program's settings once, before anything starts. The only reader of the environment.
 * @throws ConfigError naming every wrong or missing setting; values of secret settings are not repeated
 */
export function loadConfig<F extends Record<string, Field<unknown>>>(
  fields: F,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Config<F> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = environment[field.env];
    if (given === undefined || given === '') {
      if (field.fallback) values[name] = field.fallback.value;
      else problems.push(`${field.env} is missing: ${field.about}`);
      continue;
    }
    try {
      values[name] = field.parse(given);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      problems.push(
        `${field.env} ${field.secret ? `has a value that cannot be read: ${field.about}` : message}`,
      );
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values) as Config<F>;
}

/** The environment to hand to a child process: this process's own, so that PATH and HOME are there. */
export function inheritedEnvironment(names: readonly string[]): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const name of names) {
    const value = process.env[name];
    if (value !== undefined) inherited[name] = value;
  }
  return inherited;
}

/** Everything that this process was given and more: for a program of the user's own, such as a plugin of a kubeconfig. */
export function wholeEnvironment(more: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...process.env, ...more };
}

/** Adds to this process's environment what a parent says later than at its start; before `loadConfig`. */
export function adoptEnvironment(environment: Readonly<Record<string, string>>): void {
  Object.assign(process.env, environment);
}

/** Takes these variables in place of all that this process was started with; before `loadConfig`. */
export function replaceEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(process.env))
    if (!Object.hasOwn(environment, name)) delete process.env[name];
  adoptEnvironment(environment);
}

/** Variables that programs read at their start alone: those of Node, its libraries, the allocator and the language. */
const READ_AT_START = /^(NODE_|UV_|LD_|MALLOC_|GLIBC_|OPENSSL_|SSL_|ICU_|V8_|LANG$|LANGUAGE$|LC_)/;

/** The variables of an environment that a process cannot take on later. */
export function startVariables(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => READ_AT_START.test(name)));
}
