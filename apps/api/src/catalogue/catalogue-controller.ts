import { Body, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { AnswerBudget } from '../core/answer-budget.js';
import { FromCaller } from '../tenancy/caller.js';
import type { KeyRing } from '../tenancy/key-guard.js';
import { KEY_RING } from '../tenancy/key-ring.js';
import { Described, Resource } from '../wire/operation.js';
import { FreeObject, Text } from '../wire/fields.js';
import { AskedOrigin, clientAddress } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { Get, Post } from '../wire/route.js';
import { publicly, READ } from '../wire/route-access.js';
import { Answered, JSON_VALUE, listOf, type Shape, TEXT, textList, textMap, WHOLE } from '../wire/shape.js';
import { shapeRefusals } from '../wire/shape-refusals.js';
import { ExportTables } from './export-tables.js';
import { SealedTables } from './sealed-tables.js';
import type { Account, LoadedTable } from './table-objects.js';

/** Parameters that clients of catalogues add. */
class CatalogueQuery {
  @Text({ maxLength: 200, about: 'Taken and without effect: a key opens the tables of its workspace' })
  warehouse?: string;

  @Text({ maxLength: 1_000, about: 'Namespaces have none below them' })
  parent?: string;

  @Text({ maxLength: 200, about: 'Taken and without effect: lists come whole' })
  pageToken?: string;

  @Text({ maxLength: 20, about: 'Likewise' })
  pageSize?: string;

  @Text({ maxLength: 20, about: 'Taken and without effect: all snapshots are answered' })
  snapshots?: string;
}

class CatalogueTokenRequest {
  @Text({ maxLength: 100, about: 'client_credentials' })
  grant_type?: string;

  @Text({ maxLength: 200, about: 'Taken and without effect' })
  client_id?: string;

  @Text({ required: true, maxLength: 200, about: 'An API key of the workspace' })
  client_secret: string;

  @Text({ maxLength: 200, about: 'Taken and without effect' })
  scope?: string;
}

class SignRequest {
  @Text({ required: true, maxLength: 10, about: 'GET or HEAD' })
  method: string;

  @Text({ required: true, maxLength: 4_000, about: 'URL of the object, as the client would ask the store' })
  uri: string;

  @Text({ maxLength: 100, about: 'Taken and without effect: the region of the destination is signed' })
  region?: string;

  @FreeObject({ maxBytes: 65_536, about: 'Headers of the request, taken and without effect: none is signed' })
  headers?: object;

  @FreeObject({ maxBytes: 65_536, about: 'Taken and without effect' })
  properties?: object;

  @Text({ maxLength: 100, about: 'Likewise' })
  provider?: string;
}

class CatalogueConfigAnswer {
  @Answered(textMap()) readonly defaults: Readonly<Record<string, string>>;
  @Answered(textMap()) readonly overrides: Readonly<Record<string, string>>;
  @Answered(textList(), 'Routes of the protocol that are served') readonly endpoints: readonly string[];
}

class CatalogueTokenAnswer {
  @Answered(TEXT, 'The API key') readonly access_token: string;
  @Answered(TEXT) readonly token_type: string;
  @Answered(WHOLE, 'Seconds after which clients ask again') readonly expires_in: number;
}

const TEXTS: Shape = { type: 'array', items: { type: 'string' } };

class NamespacesAnswer {
  @Answered({ type: 'array', items: TEXTS }, 'A name of a project each')
  readonly namespaces: readonly (readonly string[])[];
}

class NamespaceAnswer {
  @Answered(TEXTS) readonly namespace: readonly string[];
  @Answered(textMap()) readonly properties: Readonly<Record<string, string>>;
}

class TableIdentifierAnswer {
  @Answered(TEXTS) readonly namespace: readonly string[];
  @Answered(TEXT) readonly name: string;
}

class TablesAnswer {
  @Answered(listOf(() => TableIdentifierAnswer)) readonly identifiers: readonly TableIdentifierAnswer[];
}

class TableAnswer {
  @Answered(TEXT, 'URL of the metadata in the bucket') readonly 'metadata-location': string;
  @Answered(JSON_VALUE, 'Metadata of the table, format version 2') readonly metadata: object;
  @Answered(textMap(), 'Settings of the reader of objects: the bucket, and where reads are signed')
  readonly config: Readonly<Record<string, string>>;
}

class SignedAnswer {
  @Answered(TEXT, 'URL that reads the object for ten minutes') readonly uri: string;
  @Answered({ type: 'object', additionalProperties: TEXTS }, 'Headers to add: none')
  readonly headers: Readonly<Record<string, readonly string[]>>;
}

/** Routes that clients may use: DuckDB and Spark call only what is listed. */
const ENDPOINTS = [
  'GET /v1/{prefix}/namespaces',
  'GET /v1/{prefix}/namespaces/{namespace}',
  'HEAD /v1/{prefix}/namespaces/{namespace}',
  'GET /v1/{prefix}/namespaces/{namespace}/tables',
  'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  'HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}',
];

/** Names of errors in the protocol, by status. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'BadRequestException',
  401: 'NotAuthorizedException',
  403: 'ForbiddenException',
  405: 'UnsupportedOperationException',
  503: 'ServiceUnavailableException',
};
const READ_ONLY =
  'The catalogue is read-only: its tables are written by exports with "table": "iceberg", and from sealed days';

/** Name of the table of sealed days; an export of this name in a project that has one is listed as `runs_export`. */
const SEALED = 'runs';

/** A table with its name in the catalogue. */
interface NamedTable {
  readonly namespace: string;
  readonly name: string;
  readonly load: (account: Account) => Promise<LoadedTable>;
}

/** Adds to refusals of the catalogue what its clients read. */
export function shapeCatalogueErrors(server: FastifyInstance): void {
  const isCatalogue = ({ url }: FastifyRequest): boolean => url.startsWith('/iceberg/');
  shapeRefusals(server, isCatalogue, ({ status: code, detail, text }, { url }) => {
    const isTable = code === 404 && url.includes('/tables/');
    const missing = isTable ? 'NoSuchTableException' : 'NoSuchNamespaceException';
    const type = code === 404 ? missing : (ERROR_TYPES[code] ?? 'BadRequestException');
    return { detail, error: { message: code === 405 ? READ_ONLY : text, type, code } };
  });
}

const NamespaceParam = Described(({ ApiParam }) =>
  ApiParam({ name: 'namespace', schema: { type: 'string', maxLength: 1_000 } }),
);
const TableParam = Described(({ ApiParam }) =>
  ApiParam({ name: 'table', schema: { type: 'string', maxLength: 300 } }),
);

/** A read-only REST catalogue of Apache Iceberg over the tables that exports write, and those of sealed days. */
@Resource('Iceberg', 'iceberg/v1')
export class CatalogueController {
  constructor(
    private readonly exports: ExportTables,
    private readonly sealed: SealedTables,
    private readonly answers: AnswerBudget,
    @Inject(KEY_RING) private readonly ring: Pick<KeyRing, 'keys' | 'wrongKeys'>,
  ) {}

  @Get('config', READ, { summary: 'Routes of the catalogue', answer: CatalogueConfigAnswer })
  config(@Query() _query: CatalogueQuery): CatalogueConfigAnswer {
    return { defaults: {}, overrides: {}, endpoints: ENDPOINTS };
  }

  @Post('oauth/tokens', publicly('takes a key as the secret of a client'), {
    summary: 'Takes an API key as the secret of a client, and answers it as a token',
    answer: CatalogueTokenAnswer,
    body: CatalogueTokenRequest,
    config: { takesForm: true },
  })
  async token(
    @Body() { client_secret: key }: CatalogueTokenRequest,
    @Req() request: FastifyRequest,
  ): Promise<CatalogueTokenAnswer> {
    const attempt = this.ring.wrongKeys.begin(clientAddress(request), key);
    if (!(await this.ring.keys.verify(key)))
      throw attempt.wrong(new PublicError('unauthenticated', 'The API key is not valid'));
    attempt.good();
    return { access_token: key, token_type: 'bearer', expires_in: 3_600 };
  }

  @Get('namespaces', READ, { summary: 'Projects that have tables', answer: NamespacesAnswer })
  async namespaces(
    @FromCaller() caller: Caller,
    @Query() { parent }: CatalogueQuery,
  ): Promise<NamespacesAnswer> {
    const names = parent === undefined ? (await this.#tables(caller)).map(({ namespace }) => namespace) : [];
    return { namespaces: [...new Set(names)].map((name) => [name]) };
  }

  @Get('namespaces/:namespace', READ, { summary: 'A project that has tables', answer: NamespaceAnswer })
  @NamespaceParam
  async namespace(
    @FromCaller() caller: Caller,
    @Param('namespace') namespace: string,
  ): Promise<NamespaceAnswer> {
    await this.#tablesOf(caller, namespace);
    return { namespace: [namespace], properties: {} };
  }

  @Get('namespaces/:namespace/tables', READ, { summary: 'Tables of a project', answer: TablesAnswer })
  @NamespaceParam
  async list(
    @FromCaller() caller: Caller,
    @Param('namespace') namespace: string,
    @Query() _query: CatalogueQuery,
  ): Promise<TablesAnswer> {
    const tables = await this.#tablesOf(caller, namespace);
    return { identifiers: tables.map(({ name }) => ({ namespace: [namespace], name })) };
  }

  @Get('namespaces/:namespace/tables/:table', READ, {
    summary: 'Newest metadata of a table, with the address of its bucket',
    answer: TableAnswer,
    refuses: { 503: 'The bucket cannot be read' },
    sends: 'counted json',
  })
  @NamespaceParam
  @TableParam
  async table(
    @FromCaller() caller: Caller,
    @Param('namespace') namespace: string,
    @Param('table') name: string,
    @Query() _query: CatalogueQuery,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const tables = await this.#tables(caller);
    const table = tables.find((one) => one.namespace === namespace && one.name === name);
    if (!table) throw new PublicError('not_found', `Table does not exist: ${namespace}.${name}`);
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const loaded = await table.load(account);
      const { location, json } = loaded;
      const config = configOf(loaded, origin);
      // the metadata are handed on as they were written
      return `{"metadata-location":${JSON.stringify(location)},"metadata":${json},"config":${JSON.stringify(config)}}`;
    });
  }

  @Post('sign/:export_id', READ, {
    summary: 'Signs the read of a file of a table, with the credentials of its destination',
    answer: SignedAnswer,
    refuses: { 403: 'The object is none of the table, or is to be written' },
  })
  async sign(
    @FromCaller() caller: Caller,
    @PathId('export_id') exportId: string,
    @Body() request: SignRequest,
  ): Promise<SignedAnswer> {
    return { uri: await this.exports.sign(caller, exportId, request), headers: {} };
  }

  @Post('sign/projects/:project_id', READ, {
    summary: 'Signs the read of a file of the sealed days of a project, or of their table',
    answer: SignedAnswer,
    refuses: { 403: 'The object is none of the project, or is to be written' },
  })
  async signSealed(
    @FromCaller() caller: Caller,
    @PathId('project_id') projectId: string,
    @Body() request: SignRequest,
  ): Promise<SignedAnswer> {
    return { uri: await this.sealed.sign(caller, projectId, request), headers: {} };
  }

  /** Tables of the workspace, by namespace and name. */
  async #tables(caller: Caller): Promise<readonly NamedTable[]> {
    const sealed = (await this.sealed.list(caller)).map((table) => ({
      namespace: table.projectName,
      name: SEALED,
      load: (account: Account) => this.sealed.load(table, account),
    }));
    const projects = new Set(sealed.map(({ namespace }) => namespace));
    const exported = this.exports.list(caller).map((table) => ({
      namespace: table.namespace,
      name: table.name === SEALED && projects.has(table.namespace) ? `${SEALED}_export` : table.name,
      load: (account: Account) => this.exports.load(caller, table, account),
    }));
    const keyOf = ({ namespace, name }: NamedTable): string => `${namespace}\0${name}`;
    return [...sealed, ...exported].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /** @throws PublicError not_found */
  async #tablesOf(caller: Caller, namespace: string): Promise<readonly NamedTable[]> {
    const found = (await this.#tables(caller)).filter((one) => one.namespace === namespace);
    if (found.length === 0) throw new PublicError('not_found', `Namespace does not exist: ${namespace}`);
    return found;
  }
}

/** Settings for the client's own reader of objects: reads are signed here, so no key leaves the platform. */
function configOf({ store, signer: path }: LoadedTable, origin: string): Readonly<Record<string, string>> {
  const endpoint = `iceberg/v1/${path}`;
  const signer = { 's3.remote-signing-enabled': 'true', 's3.signer': 'S3V4RestSigner' };
  return {
    's3.region': store.region,
    'client.region': store.region,
    's3.path-style-access': String(store.isBucketInPath),
    ...signer,
    // Iceberg 1.12 for Java reads the names without `s3`, all others the first
    's3.signer.endpoint': endpoint,
    'signer.endpoint': endpoint,
    ...(origin === '' ? {} : { 's3.signer.uri': origin, 'signer.uri': origin }),
    ...(store.endpoint === undefined ? {} : { 's3.endpoint': store.endpoint }),
  };
}
