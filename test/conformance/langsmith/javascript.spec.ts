import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { Client as EarlierClient } from 'langsmith-earlier';
import { testApi } from '../../../apps/api/src/testdata/test-api.js';
import { DATASETS } from './calls/dataset-calls.js';
import { FEEDBACK, PROJECTS } from './calls/project-calls.js';
import { PROMPTS } from './calls/prompt-calls.js';
import { REFUSED } from './calls/refused-calls.js';
import { type Calls, READING, SENDING, SHARING, THREADS } from './calls/run-calls.js';
import { JAVASCRIPT } from './javascript-methods.js';
import { refusalOf, rowsOf } from './method-rows.js';
import { makeWorld, type World } from './world.js';

const LOCAL: Calls = {
  getHostUrl: async ({ client, url }) => expect(client.getHostUrl()).toBe(url),
  headers: async ({ client }) => expect(client.headers).toEqual({}),
  tracingMode: async ({ client }) => expect(client.tracingMode).toBe('langsmith'),
  cleanup: async ({ client }) => expect(client.cleanup()).toBeUndefined(),
  toString: async ({ client }: World) => expect(client.toString()).toContain('LangSmithClient'),
};
const CALLS: Calls = {
  ...SENDING,
  ...READING,
  ...THREADS,
  ...SHARING,
  ...PROJECTS,
  ...FEEDBACK,
  ...DATASETS,
  ...PROMPTS,
  ...REFUSED,
  ...LOCAL,
};

const ROWS = rowsOf(JAVASCRIPT);
const packageFolder = join(dirname(createRequire(import.meta.url).resolve('langsmith')));

/** Methods of the prototype that the types do not declare private or protected. */
function publicMethods(): string[] {
  const types = readFileSync(join(packageFolder, 'lib/client.d.ts'), 'utf8');
  const body = types.slice(types.indexOf('export declare class Client '));
  return Object.getOwnPropertyNames(Client.prototype).filter(
    (name) =>
      !name.startsWith('_') &&
      name !== 'constructor' &&
      !new RegExp(`^ +(private|protected) (get |readonly )?${name}\\b`, 'm').test(body),
  );
}

/** Methods of what hangs on a client, with the path that leads to them. */
function methodsOf(resource: object, path: string): string[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(resource));
  const methods = own.filter((name) => name !== 'constructor').map((name) => `${path}.${name}`);
  for (const [name, part] of Object.entries(resource)) {
    if (name === '_client') continue;
    if (typeof part === 'function') methods.push(`${path}.${name}`);
    else if (typeof part === 'object' && part !== null)
      methods.push(...methodsOf(part as object, `${path}.${name}`));
  }
  return methods;
}

describe('methods of the JavaScript client', () => {
  it('has a row for every public method of the installed version', () => {
    const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(JAVASCRIPT.version).toBe(`langsmith ${version} (npm)`);
    const client = new Client({ apiUrl: 'http://127.0.0.1:9', apiKey: 'key' });
    const found = publicMethods().flatMap((name) => {
      const part = client[name as keyof Client] as unknown;
      const isResource = typeof part === 'object' && name !== 'headers' && name !== 'tracingMode';
      return isResource && part !== null && !(part instanceof String) ? methodsOf(part, name) : [name];
    });
    expect(ROWS.map(({ method }) => method).sort()).toEqual(found.sort());
    expect(Object.keys(CALLS).sort()).toEqual(found.sort());
  });
});

// its private fields are its own
const EARLIER = EarlierClient as never as typeof Client;

/** Methods by path that a client has. */
function hasMethod(client: Client, path: string): boolean {
  let found: unknown = client;
  for (const name of path.split('.')) found = Reflect.get(Object(found) as object, name);
  return found !== undefined;
}

describe.each([
  ['of the installed version', Client],
  ['of the release before it', EARLIER],
])('the JavaScript client %s', (_which, ClientOf) => {
  const running = testApi();
  let world: World;

  beforeAll(async () => {
    world = await makeWorld(running, ClientOf);
  });

  it.each(ROWS.map((row) => [row.method, row.outcome, row] as const))(
    '%s: %s',
    async (method, outcome, row) => {
      const call = CALLS[method];
      if (!call) throw new Error(`there is no call of ${method}`);
      if (ClientOf === EARLIER && !hasMethod(world.client, method)) return;
      if (outcome !== 'refused' && outcome !== 'not planned') return void (await call(world));
      const refusal = await call(world).then(
        () => new Error('it was not refused'),
        (error: unknown) => error as Error,
      );
      expect(`${refusal.name}: ${refusal.message}`).toContain(refusalOf(row));
      expect(`${(refusal as { status?: number }).status} ${refusal.message}`).toMatch(/501|400|405/);
    },
  );
});
