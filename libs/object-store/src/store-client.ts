import { createRequire } from 'node:module';
import type * as minio from 'minio';
import { loadConfig, optionalText } from '#lib/config';
import { AssumedRole } from './assumed-role.js';
import { EndpointGuard, Transport } from './transport.js';
import { CredentialsRefusedError, EndpointRefusedError } from './object-store-error.js';
import type { ObjectStoreSettings } from './object-store.js';
import { CredentialProvider, RoleCredentials } from './role-credentials.js';

/** An address in the form that the client takes. */
interface Endpoint {
  /**
   * Host without brackets; the URL parser has brought decimal, octal and hexadecimal forms into the usual
   * one.
   */
  readonly host: string;
  readonly port: number | undefined;
  readonly isTls: boolean;
}

/** @throws EndpointRefusedError */
function parseEndpoint(text: string): Endpoint {
  const invalid = (why: string): EndpointRefusedError => new EndpointRefusedError('InvalidEndpoint', why);
  if (!URL.canParse(text)) throw invalid('it is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalid('it is not an http or https URL');
  if (url.username !== '' || url.password !== '') throw invalid('it must not contain credentials');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw invalid('it must not have a path');
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? undefined : Number(url.port),
    isTls: url.protocol === 'https:',
  };
}

// the package's CommonJS half: the other imports node:http, which loads Node's WebSocket client, 7 MB and 50 ms
const { Client } = createRequire(import.meta.url)('minio') as typeof minio;
type Client = minio.Client;
type ClientOptions = minio.ClientOptions;
type RequestOptions = ReturnType<Client['getRequestOptions']>;

/** A client for endpoints whose host names the bucket: it must not appear in the path again. */
class BucketInHostClient extends Client {
  protected override getRequestOptions(
    options: Parameters<Client['getRequestOptions']>[0],
  ): RequestOptions & { host: string; headers: Record<string, string> } {
    const request = super.getRequestOptions(options);
    const path = String(request.path).slice(
      options.bucketName === undefined ? 0 : options.bucketName.length + 1,
    );
    return { ...request, path: path.startsWith('/') ? path : `/${path}` };
  }
}

export interface StoreClient {
  readonly client: Client;
  readonly transport: Transport;
}

/** @throws EndpointRefusedError, CredentialsRefusedError */
export function createClient(settings: ObjectStoreSettings, timeoutMs: number): StoreClient {
  const endpoint = settings.endpoint === undefined ? undefined : parseEndpoint(settings.endpoint);
  const isTls = endpoint?.isTls ?? true;
  const guard = new EndpointGuard(settings.allowPrivateEndpoints ?? false);
  if (endpoint) guard.checkHost(endpoint.host);
  const transport = new Transport(isTls, timeoutMs, guard);
  const isBucketInHost = endpoint !== undefined && settings.includeBucketInPrefix === false;
  const options: ClientOptions = {
    endPoint: endpoint?.host ?? 's3.amazonaws.com',
    port: endpoint?.port,
    useSSL: isTls,
    // Most self-hosted stores ignore the region; asking them for it takes a permission that few keys have.
    region: settings.region ?? (endpoint ? 'us-east-1' : undefined),
    transport,
    transportAgent: transport.agent,
    retryOptions: { disableRetry: true },
    ...credentialsOf(settings, endpoint, timeoutMs),
  };
  const client = isBucketInHost ? new BucketInHostClient(options) : new Client(options);
  return { client, transport };
}

/** Names of S3 itself, its FIPS, accelerated and private ones; none that a customer of AWS can choose the beginning of. */
const AWS_STORE =
  /^(?:[a-z0-9.-]+\.)?s3(?:-fips|-accelerate)?(?:\.dualstack)?(?:\.[a-z]{2}(?:-[a-z]+)+-\d)?(?:\.vpce)?\.amazonaws\.com(?:\.cn)?$/;
const ONLY_AWS =
  'without credentials of its own, a destination gets the temporary ones of the platform, which are for AWS alone; ' +
  'give credentials, or leave out the endpoint';
const NOT_ALLOWED =
  'the destination has no credentials of its own, and the workspace may not use those of the platform; ' +
  'give credentials, or set spec.allowEnvironmentCredentials of the Workspace';

/**
 * The standard order of lookup: the given keys, environment variables, the role of the pod or machine.
 * Temporary credentials are sent with a token, which the author of the endpoint must not get.
 * @throws EndpointRefusedError, CredentialsRefusedError
 */
function credentialsOf(
  settings: ObjectStoreSettings,
  endpoint: Endpoint | undefined,
  timeoutMs: number,
): Partial<ClientOptions> {
  const isOwn = settings.accessKeyId !== undefined;
  if (!isOwn && settings.allowEnvironmentCredentials !== true) throw new CredentialsRefusedError(NOT_ALLOWED);
  const given = isOwn
    ? settings
    : loadConfig({
        accessKeyId: optionalText('AWS_ACCESS_KEY_ID', 'access key'),
        secretAccessKey: optionalText('AWS_SECRET_ACCESS_KEY', 'secret key', { secret: true }),
        sessionToken: optionalText('AWS_SESSION_TOKEN', 'session token', { secret: true }),
      });
  const { accessKeyId, secretAccessKey, sessionToken } = given;
  const { role, allowPrivateEndpoints = false } = settings;
  const isTemporary = role !== undefined || accessKeyId === undefined || sessionToken !== undefined;
  if (!isOwn && isTemporary && endpoint && !AWS_STORE.test(endpoint.host))
    throw new EndpointRefusedError('InvalidEndpoint', ONLY_AWS);
  const keys = {
    accessKey: accessKeyId ?? '',
    secretKey: secretAccessKey ?? '',
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
  const provider = accessKeyId === undefined ? new RoleCredentials() : undefined;
  if (role) {
    const by = provider ?? new CredentialProvider(keys);
    // an empty one is none
    const region = settings.region || 'us-east-1';
    return {
      credentialsProvider: new AssumedRole({ role, by, region, allowPrivateEndpoints, timeoutMs }),
    };
  }
  return provider ? { credentialsProvider: provider } : keys;
}
