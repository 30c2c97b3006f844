import { readFile } from 'node:fs/promises';
import type http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import type * as minio from 'minio';
import { loadConfig, optionalText } from '#lib/config';
import { plainHttp } from '#lib/http';
import { systemClock } from '#lib/time';
import { CredentialsRefusedError } from './object-store-error.js';

const { IamAwsProvider } = createRequire(import.meta.url)('minio') as typeof minio;
type IamAwsProvider = minio.IamAwsProvider;
type Credentials = Awaited<ReturnType<IamAwsProvider['getCredentials']>>;
/** Its base, which holds credentials and looks none up; the package does not export it. */
export const CredentialProvider = Object.getPrototypeOf(IamAwsProvider) as new (
  keys: Readonly<Record<'accessKey' | 'secretKey', string> & { sessionToken?: string }>,
) => IamAwsProvider;
export type CredentialProvider = IamAwsProvider;

const NONE_FOUND =
  'no credentials were found: the destination has none, the environment has no AWS_ACCESS_KEY_ID, and no role of the ' +
  'pod or machine answered; give credentials';
/** Addresses at which AWS answers containers of ECS, and machines. */
const CONTAINERS = 'http://169.254.170.2';
const MACHINES = 'http://169.254.169.254/latest';
const ROLES = `${MACHINES}/meta-data/iam/security-credentials/`;
const TIMEOUT_MS = 5_000;
const MAX_CHARACTERS = 64 << 10;
/** Asked again so long before they end. */
export const LEEWAY_MS = 60_000;

const FIELDS = {
  webIdentityFile: optionalText('AWS_WEB_IDENTITY_TOKEN_FILE', 'token for AssumeRoleWithWebIdentity'),
  relativeUri: optionalText('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', 'path at the endpoint for containers'),
  fullUri: optionalText(
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    'URL that answers with the credentials of a role',
  ),
  token: optionalText('AWS_CONTAINER_AUTHORIZATION_TOKEN', 'sent to that endpoint', { secret: true }),
  tokenFile: optionalText(
    'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
    'file with what is sent to that endpoint',
  ),
};

interface RoleAnswer {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly sessionToken: string;
  readonly endMs: number;
}

/**
 * The role of the pod or machine: by a token of its account (IRSA), by the endpoint for containers (EKS Pod Identity,
 * ECS), by the service of the machine. Only the first is the client's own look-up: for the others it knows no file with
 * the token, refuses answers without `Code`, and reads `AccessKeyID` where AWS writes `AccessKeyId`.
 */
export class RoleCredentials extends CredentialProvider {
  readonly #webIdentity = new IamAwsProvider({});
  #endMs = 0;

  constructor() {
    super({ accessKey: '', secretKey: '' });
  }

  /** @throws CredentialsRefusedError with the error of the last look-up as cause */
  override async getCredentials(): Promise<Credentials> {
    try {
      const settings = loadConfig(FIELDS);
      if (settings.webIdentityFile !== undefined) return await this.#webIdentity.getCredentials();
      if (this.#endMs - LEEWAY_MS < systemClock.now().getTime()) {
        const answer = parseAnswer(await askForRole(settings));
        this.setAccessKey(answer.accessKey);
        this.setSecretKey(answer.secretKey);
        this.setSessionToken(answer.sessionToken);
        this.#endMs = answer.endMs;
      }
      return await super.getCredentials();
    } catch (error) {
      throw new CredentialsRefusedError(NONE_FOUND, 'NoCredentials', { cause: error });
    }
  }
}

async function askForRole(settings: {
  readonly [K in keyof typeof FIELDS]: string | undefined;
}): Promise<string> {
  const { relativeUri, fullUri, tokenFile } = settings;
  const url = relativeUri === undefined ? fullUri : new URL(relativeUri, CONTAINERS).href;
  if (url === undefined) return askMachine();
  // read each time: Kubernetes renews it
  const token = tokenFile === undefined ? settings.token : (await readFile(tokenFile, 'utf8')).trim();
  return ask('GET', url, token === undefined ? {} : { authorization: token });
}

async function askMachine(): Promise<string> {
  const token = await ask('PUT', `${MACHINES}/api/token`, {
    'x-aws-ec2-metadata-token-ttl-seconds': '21600',
  });
  const headers = { 'x-aws-ec2-metadata-token': token };
  const [role = ''] = (await ask('GET', ROLES, headers)).split(/\s+/);
  return ask('GET', `${ROLES}${encodeURIComponent(role)}`, headers);
}

/** Sends a request, never through a proxy: the server is beside the pod or machine. */
function ask(method: string, url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : plainHttp;
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      collect(answer).then(resolve, reject);
    });
    const cancel = systemClock.after(TIMEOUT_MS, () =>
      sent.destroy(new Error(`${url} did not answer in time`)),
    );
    sent.once('close', cancel);
    sent.once('error', reject);
    sent.end();
  });
}

async function collect(answer: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) {
    text += String(piece);
    if (text.length > MAX_CHARACTERS) throw new Error('the answer with a role is too long');
  }
  if (answer.statusCode !== 200)
    throw new Error(`a role was asked for, the answer has status ${answer.statusCode}`);
  return text;
}

/** Parses an answer. Errors do not quote it: it may hold a key. */
function parseAnswer(text: string): RoleAnswer {
  const found = parseJson(text);
  const textOf = (name: string): string => {
    const value = found[name];
    if (typeof value !== 'string' || value === '') throw new Error(`the answer with a role has no ${name}`);
    return value;
  };
  const endMs = Date.parse(textOf('Expiration'));
  if (Number.isNaN(endMs)) throw new Error('Expiration of the answer with a role is no time');

  return {
    accessKey: textOf('AccessKeyId'),
    secretKey: textOf('SecretAccessKey'),
    sessionToken: textOf('Token'),
    endMs,
  };
}

function parseJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    throw new Error('the answer with a role is no JSON');
  }
}
