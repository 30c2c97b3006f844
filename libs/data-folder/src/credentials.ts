import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** The parsed file, or undefined when it is not there. */
export function readJson<T>(path: string): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    // the parser's message would show a piece of the file, and some hold secrets
    throw new Error(`${path} is not JSON: restore or remove it`);
  }
}

/** Writes the whole file or nothing: a reader never sees half of it. */
export function writeJson(path: string, value: unknown, mode = 0o600): void {
  const draft = `${path}.${process.pid}.draft`;
  writeFileSync(draft, `${JSON.stringify(value, undefined, 2)}\n`, { mode });
  renameSync(draft, path);
}

/**
 * Address of the embedded object store and the key of its operator, who reads and writes objects of every
 * bucket.
 */
export interface StoreCredentials {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The REST interface for other machines. */
export interface TlsAddress {
  readonly url: string;
  /** Path of the certificate, PEM. */
  readonly certificate: string;
}

/** `credentials.json`: what a person or a script needs to use the platform. */
export interface PlatformCredentials {
  /** URL for programs of this machine. */
  readonly restUrl: string;
  /** Absent where this machine alone is listened on. */
  readonly tls?: TlsAddress;
  readonly apiKey: string;
  readonly tenantId: string;
  /** Manages the API keys of every workspace, with `X-Tenant-Id`, and nothing else. */
  readonly operatorKey: string;
  readonly kubeconfig: string;
  readonly objectStore: StoreCredentials;
  /** Addresses of `/metrics` by program. */
  readonly metrics: Readonly<Record<string, string>>;
}

/** Members without which neither the platform nor a client can work; later versions may add others. */
const NEEDED = ['restUrl', 'apiKey', 'tenantId', 'kubeconfig'] as const;
const NEEDED_OF_STORE = ['accessKeyId', 'secretAccessKey'] as const;

/**
 * @returns undefined when the file does not exist
 * @throws Error that names the file and the first member that is missing
 */
export function readCredentials(path: string): PlatformCredentials | undefined {
  const found = readJson<Partial<PlatformCredentials> | null>(path);
  if (found === undefined) return undefined;
  const store: Partial<StoreCredentials> = found?.objectStore ?? {};
  const missing =
    NEEDED.find((name) => typeof found?.[name] !== 'string') ??
    NEEDED_OF_STORE.map((name) => [`objectStore.${name}`, store[name]] as const).find(
      ([, value]) => typeof value !== 'string',
    )?.[0];
  if (missing === undefined) return found as PlatformCredentials;
  throw new Error(
    `${path} is damaged: ${missing} is missing; restore it from a backup, or remove it: the next start makes new keys`,
  );
}

export function writeCredentials(path: string, credentials: PlatformCredentials): void {
  writeJson(path, credentials);
}
