import { execFile, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, type IamAwsProvider } from 'minio';
import { freePort, waitFor } from '#lib/testing';
import type { MadeCertificate } from './tls-front.js';

const { AssumeRoleProvider } = createRequire(import.meta.url)('minio/dist/main/AssumeRoleProvider.js') as {
  readonly AssumeRoleProvider: new (
    options: Readonly<Record<'stsEndpoint' | 'accessKey' | 'secretKey' | 'policy', string>>,
  ) => Pick<IamAwsProvider, 'getCredentials'>;
};

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface StoreOptions extends Keys {
  /** For everything that it keeps. */
  readonly folder: string;
  readonly bucket: string;
  /** What follows the bucket in names of hosts; absent: buckets are in paths. */
  readonly virtualDomain?: string;
  /** Absent: plain HTTP. */
  readonly certificate?: MadeCertificate;
}

export interface RunningStore {
  readonly endpoint: string;
  /** Keys with the right to these actions on objects of a bucket, and no other. */
  restrictedKeys(
    bucket: string,
    actions: readonly string[],
  ): Promise<Keys & { readonly sessionToken?: string }>;
  stop(): void;
}

/** Object store that another maker built, by a program of its own. */
export interface ForeignStore {
  readonly name: 'versitygw' | 'MinIO';
  start(options: StoreOptions): Promise<RunningStore>;
}

interface Command {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The running program whose keys are restricted. */
interface Owner extends Keys {
  readonly program: string;
  readonly endpoint: string;
}

interface StoreProgram {
  /** Variable that names it. */
  readonly variable: string;
  command(options: StoreOptions, port: number): Command;
  restrict(owner: Owner, bucket: string, statement: object): ReturnType<RunningStore['restrictedKeys']>;
}

const STORES: Readonly<Record<ForeignStore['name'], StoreProgram>> = {
  // https://github.com/versity/versitygw over a folder
  versitygw: { variable: 'AGENTPLANE_TEST_VERSITYGW', command: versitygw, restrict: byPolicyOfBucket },
  // https://github.com/minio/minio
  MinIO: { variable: 'AGENTPLANE_TEST_MINIO', command: minio, restrict: byPolicyOfSession },
};

/** A user of its own, and a policy of the bucket that names it. */
async function byPolicyOfBucket(owner: Owner, bucket: string, statement: object) {
  const keys = { accessKeyId: 'AKRESTRICTED', secretAccessKey: 'secret of a user' };
  const { program, endpoint, accessKeyId: accessKey, secretAccessKey: secretKey } = owner;
  await promisify(execFile)(program, [
    ...['admin', '--access', accessKey, '--secret', secretKey, '--endpoint-url', endpoint],
    ...['create-user', '--access', keys.accessKeyId, '--secret', keys.secretAccessKey, '--role', 'user'],
  ]);
  const { hostname, port } = new URL(endpoint);
  const client = new Client({ endPoint: hostname, port: Number(port), useSSL: false, accessKey, secretKey });
  const policy = { Statement: [{ ...statement, Principal: { AWS: [keys.accessKeyId] } }] };
  await client.setBucketPolicy(bucket, JSON.stringify({ Version: '2012-10-17', ...policy }));
  return keys;
}

/** A session of the owner with a policy of its own. */
async function byPolicyOfSession(owner: Owner, _bucket: string, statement: object) {
  const provider = new AssumeRoleProvider({
    stsEndpoint: owner.endpoint,
    accessKey: owner.accessKeyId,
    secretKey: owner.secretAccessKey,
    policy: JSON.stringify({ Version: '2012-10-17', Statement: [statement] }),
  });
  const { accessKey, secretKey, sessionToken } = await provider.getCredentials();
  return { accessKeyId: accessKey, secretAccessKey: secretKey, sessionToken };
}

function versitygw(options: StoreOptions, port: number): Command {
  const { folder, bucket, virtualDomain, certificate } = options;
  const at = (name: string): string => join(folder, name);
  // a folder is a bucket
  for (const one of [at('iam'), at('versions'), join(at('data'), bucket)])
    mkdirSync(one, { recursive: true });
  if (certificate) writeFileSync(at('cert.pem'), certificate.cert);
  if (certificate) writeFileSync(at('key.pem'), certificate.key);
  const tls = certificate ? ['--cert', at('cert.pem'), '--key', at('key.pem')] : [];
  const virtual = virtualDomain === undefined ? [] : ['--virtual-domain', virtualDomain];
  const gateway = ['--port', `127.0.0.1:${port}`, '--quiet', '--iam-dir', at('iam'), ...virtual, ...tls];
  return {
    args: [...gateway, 'posix', '--versioning-dir', at('versions'), at('data')],
    env: { ROOT_ACCESS_KEY: options.accessKeyId, ROOT_SECRET_KEY: options.secretAccessKey },
  };
}

function minio(options: StoreOptions, port: number): Command {
  const { folder, bucket, virtualDomain, certificate } = options;
  const [data, certs] = [join(folder, 'data'), join(folder, 'certs')];
  // a folder is a bucket
  for (const one of [certs, join(data, bucket)]) mkdirSync(one, { recursive: true });
  if (certificate) writeFileSync(join(certs, 'public.crt'), certificate.cert);
  if (certificate) writeFileSync(join(certs, 'private.key'), certificate.key);
  return {
    args: ['server', '--address', `127.0.0.1:${port}`, '--certs-dir', certs, '--quiet', data],
    env: {
      MINIO_ROOT_USER: options.accessKeyId,
      MINIO_ROOT_PASSWORD: options.secretAccessKey,
      MINIO_BROWSER: 'off',
      MINIO_UPDATE: 'off',
      ...(virtualDomain === undefined ? {} : { MINIO_DOMAIN: virtualDomain }),
    },
  };
}

async function run(program: string, command: Command, endpoint: string): Promise<{ stop(): void }> {
  const child = spawn(program, command.args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...command.env },
    stdio: 'ignore',
  });
  // a certificate that nothing here trusts is an answer too
  const answers = () =>
    fetch(`${endpoint}/minio/health/ready`).then(
      ({ status }) => status < 500,
      (error: Error) => /certificate/.test(String(error.cause)),
    );
  await waitFor(answers, { what: program });
  return { stop: () => child.kill('SIGKILL') };
}

/** A store of this name; undefined without its program, which is reported. */
export function foreignStore(name: ForeignStore['name']): ForeignStore | undefined {
  const { variable, command, restrict } = STORES[name];
  const program = process.env[variable];
  if (program === undefined) {
    process.stderr.write(`${variable} names no program: tests with ${name} are left out\n`);
    return undefined;
  }
  return {
    name,
    async start(options) {
      const port = await freePort();
      const endpoint = options.certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
      const { stop } = await run(program, command(options, port), endpoint);
      const restrictedKeys = (bucket: string, actions: readonly string[]) =>
        restrict({ ...options, program, endpoint }, bucket, {
          ...{ Effect: 'Allow', Action: actions, Resource: [`arn:aws:s3:::${bucket}/*`] },
        });
      return { endpoint, stop, restrictedKeys };
    },
  };
}

/** All that are there. */
export function foreignStores(): readonly ForeignStore[] {
  return (['versitygw', 'MinIO'] as const).flatMap((name) => foreignStore(name) ?? []);
}
