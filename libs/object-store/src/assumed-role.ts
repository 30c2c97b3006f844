import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { loadConfig, optionalText } from '#lib/config';
import { systemClock } from '#lib/time';
import { classify, CredentialsRefusedError, textOf } from './object-store-error.js';
import type { RoleToAssume } from './object-store.js';
import { CredentialProvider, LEEWAY_MS } from './role-credentials.js';
import { EndpointGuard, Transport } from './transport.js';

/** Part of the client for whoever signs a request of another service; its types are not exported. */
const { signV4ByServiceName } = createRequire(import.meta.url)('minio/dist/main/signing.js') as {
  signV4ByServiceName(
    request: { readonly method: string; readonly path: string; readonly headers: Headers },
    accessKey: string,
    secretKey: string,
    region: string,
    now: Date,
    hash: string,
    service: string,
  ): string;
};
type Credentials = Awaited<ReturnType<CredentialProvider['getCredentials']>>;

interface AssumedRoleOptions {
  readonly role: RoleToAssume;
  /** Credentials that may assume it. */
  readonly by: CredentialProvider;
  readonly region: string;
  readonly allowPrivateEndpoints: boolean;
  readonly timeoutMs: number;
}

const FIELDS = {
  endpoint: optionalText('AWS_ENDPOINT_URL_STS', 'address of the STS that is asked for roles; absent: AWS’s'),
};
/** The longest time for which a role can be assumed by another role. */
const SESSION_SECONDS = 3_600;

/**
 * Credentials of a role by AssumeRole of STS, asked for again before they end. The client has a provider for this too, which
 * sends no session token and so cannot start from the role of a pod.
 */
export class AssumedRole extends CredentialProvider {
  readonly #options: AssumedRoleOptions;
  #endMs = 0;
  #asked: Promise<void> | undefined;

  constructor(options: AssumedRoleOptions) {
    super({ accessKey: '', secretKey: '' });
    this.#options = options;
  }

  /** @throws CredentialsRefusedError */
  override async getCredentials(): Promise<Credentials> {
    if (this.#endMs - LEEWAY_MS < systemClock.now().getTime())
      await (this.#asked ??= this.#ask().finally(() => (this.#asked = undefined)));
    return await super.getCredentials();
  }

  async #ask(): Promise<void> {
    const { role, by, region, allowPrivateEndpoints, timeoutMs } = this.#options;
    const url = new URL(loadConfig(FIELDS).endpoint ?? `https://sts.${region}.${domainOf(region)}`);
    const body = new URLSearchParams({
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: role.arn,
      RoleSessionName: 'agentplane',
      ExternalId: role.externalId,
      DurationSeconds: String(SESSION_SECONDS),
    }).toString();
    const headers = signedHeaders(url.host, body, region, await by.getCredentials());
    const guard = new EndpointGuard(allowPrivateEndpoints);
    const transport = new Transport(url.protocol === 'https:', timeoutMs, guard);
    try {
      const answer = await send(transport, url, headers, body);
      this.setAccessKey(partOf(answer, 'AccessKeyId'));
      this.setSecretKey(partOf(answer, 'SecretAccessKey'));
      this.setSessionToken(partOf(answer, 'SessionToken'));
      // one that is no time has passed
      this.#endMs = Date.parse(partOf(answer, 'Expiration')) || 0;
    } catch (error) {
      if (error instanceof CredentialsRefusedError) throw error;
      const { code } = classify(error, 'assume a role');
      const advice = `STS did not answer as it should (${code})`;
      throw new CredentialsRefusedError(advice, 'NoCredentials', { cause: error });
    } finally {
      transport.close();
    }
  }
}

function domainOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

type Headers = Readonly<Record<string, string>>;

/** Headers with the signature of AWS, version 4. */
function signedHeaders(host: string, body: string, region: string, by: Credentials): Headers {
  const now = systemClock.now();
  const token: string | undefined = by.getSessionToken();
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    host,
    'x-amz-date': now.toISOString().replace(/[-:]|\.\d+/g, ''),
    ...(token ? { 'x-amz-security-token': token } : {}),
  };
  const request = { method: 'POST', path: '/', headers };
  const hash = createHash('sha256').update(body).digest('hex');
  const [key, secret] = [by.getAccessKey(), by.getSecretKey()];
  return { ...headers, authorization: signV4ByServiceName(request, key, secret, region, now, hash, 'sts') };
}

function send({ request }: Transport, url: URL, headers: Headers, body: string): Promise<string> {
  const { hostname, port } = url;
  const options = { method: 'POST', hostname, path: '/', headers, ...(port === '' ? {} : { port }) };
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer) => void read(answer).then(resolve, reject));
    sent.once('error', reject);
    sent.end(body);
  });
}

/** STS asks for patience with a status of 400. */
const PASSING = new Set(['Throttling', 'ThrottlingException']);

/** @throws CredentialsRefusedError */
async function read(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer) text += String(piece);
  if (answer.statusCode === 200) return text;
  const code = textOf(text, 'Code') ?? String(answer.statusCode);
  const words = [code, textOf(text, 'Message')].filter(Boolean).join(': ');
  throw new CredentialsRefusedError(
    `the role could not be assumed: ${words}; let its trust policy allow sts:AssumeRole to these credentials, with the id of the tenant as sts:ExternalId`,
    PASSING.has(code) ? 'NoCredentials' : 'AccessDenied',
  );
}

/** Part of an answer. The error does not quote it: it may hold a key. */
function partOf(answer: string, name: string): string {
  const found = textOf(answer, name);
  if (found) return found;
  throw new CredentialsRefusedError(`the answer of STS has no ${name}`, 'NoCredentials');
}
