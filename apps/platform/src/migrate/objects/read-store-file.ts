import { readFileSync } from 'node:fs';
import type { ObjectStoreSettings } from '#lib/object-store';

type Member = 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken';

/** Names of the file's members, and what they are to a client. */
const MEMBERS: Readonly<Record<string, Member>> = {
  endpoint_url: 'endpoint',
  region: 'region',
  access_key_id: 'accessKeyId',
  secret_access_key: 'secretAccessKey',
  session_token: 'sessionToken',
};

/**
 * Settings for reaching a store, from a JSON file that its owner wrote. Without keys those of the environment
 * are used.
 * @throws Error that names the file and the member, never a value
 */
export function readStoreFile(file: string): ObjectStoreSettings {
  const found: unknown = parse(file);
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw new Error(`${file} must be a JSON object with ${Object.keys(MEMBERS).join(', ')}`);
  const settings: Partial<Record<Member, string>> = {};
  for (const [name, value] of Object.entries(found)) {
    const member = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
    if (member === undefined)
      throw new Error(`${file} has the unknown member ${name}; use ${Object.keys(MEMBERS).join(', ')}`);
    if (typeof value !== 'string' || value === '') throw new Error(`${name} in ${file} must be a text`);
    settings[member] = value;
  }
  const hasKeys = settings.accessKeyId !== undefined;
  return {
    ...settings,
    allowPrivateEndpoints: true,
    ...(hasKeys ? {} : { allowEnvironmentCredentials: true }),
  };
}

function parse(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    // its own message repeats the text of the file
    throw new Error(`${file} is not JSON`);
  }
}
