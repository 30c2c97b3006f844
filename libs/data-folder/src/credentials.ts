import { readJson, writeJson } from './json-file.js';

/** How the embedded object store is reached: the key of its operator, who reads and writes objects of every bucket. */
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
  /** For programs of this machine. */
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

export function readCredentials(path: string): PlatformCredentials | undefined {
  return readJson<PlatformCredentials>(path);
}

export function writeCredentials(path: string, credentials: PlatformCredentials): void {
  writeJson(path, credentials);
}
