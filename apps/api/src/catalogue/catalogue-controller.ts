import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Module,
  Param,
  Post,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { idOf } from '#lib/resources';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, HOMES } from '../core/tokens.js';
import type { Homes } from '../kubernetes/homes.js';
import { FromCaller } from '../tenancy/caller.js';
import type { KeyRing } from '../tenancy/key-guard.js';
import { KEY_RING, TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Described } from '../wire/described.js';
import { FreeObject, Text } from '../wire/fields.js';
import { Operation } from '../wire/operation.js';
import { AskedOrigin, clientAddress } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { Answered, JSON_VALUE, listOf, type Shape, TEXT, textList, textMap, WHOLE } from '../wire/shape.js';
import { ExportTables, type TableStore } from './export-tables.js';

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
const READ_ONLY = 'The catalogue is read-only: its tables are written by exports with "table": "iceberg"';

/** Adds to refusals of the catalogue what its clients read. */
export function shapeCatalogueErrors(server: FastifyInstance): void {
  server.addHook('preSerialization', async ({ url }, { statusCode: code }, payload) => {
    if (code < 400 || !url.startsWith('/iceberg/')) return payload;
    const { detail } = payload as { readonly detail?: unknown };
    const told = typeof detail === 'string' ? detail : JSON.stringify(detail);
    const isTable = code === 404 && url.includes('/tables/');
    const missing = isTable ? 'NoSuchTableException' : 'NoSuchNamespaceException';
    const type = code === 404 ? missing : (ERROR_TYPES[code] ?? 'BadRequestException');
    return { detail, error: { message: code === 405 ? READ_ONLY : told, type, code } };
  });
}

const NamespaceParam = Described(({ ApiParam }) =>
  ApiParam({ name: 'namespace', schema: { type: 'string', maxLength: 1_000 } }),
);
const TableParam = Described(({ ApiParam }) =>
  ApiParam({ name: 'table', schema: { type: 'string', maxLength: 300 } }),
);

/** A read-only REST catalogue of Apache Iceberg over the tables that exports write. */
@Described(({ ApiTags }) => ApiTags('Iceberg'))
@Controller('iceberg/v1')
class CatalogueController {
  constructor(
    private readonly tables: ExportTables,
    @Inject(KEY_RING) private readonly ring: Pick<KeyRing, 'keys' | 'wrongKeys'>,
  ) {}

  @Get('config')
  @Operation({ summary: 'Routes of the catalogue', answer: CatalogueConfigAnswer })
  config(@Query() _query: CatalogueQuery): CatalogueConfigAnswer {
    return { defaults: {}, overrides: {}, endpoints: ENDPOINTS };
  }

  @Post('oauth/tokens')
  @HttpCode(200)
  @RouteConfig({ takesForm: true })
  @Operation({
    summary: 'Takes an API key as the secret of a client, and answers it as a token',
    answer: CatalogueTokenAnswer,
    body: CatalogueTokenRequest,
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

  @Get('namespaces')
  @Operation({ summary: 'Projects that have tables', answer: NamespacesAnswer })
  namespaces(@FromCaller() caller: Caller, @Query() { parent }: CatalogueQuery): NamespacesAnswer {
    const names = parent === undefined ? this.tables.list(caller).map(({ namespace }) => namespace) : [];
    return { namespaces: [...new Set(names)].map((name) => [name]) };
  }

  @Get('namespaces/:namespace')
  @NamespaceParam
  @Operation({ summary: 'A project that has tables', answer: NamespaceAnswer })
  namespace(@FromCaller() caller: Caller, @Param('namespace') namespace: string): NamespaceAnswer {
    this.#tablesOf(caller, namespace);
    return { namespace: [namespace], properties: {} };
  }

  @Get('namespaces/:namespace/tables')
  @NamespaceParam
  @Operation({ summary: 'Tables of a project', answer: TablesAnswer })
  list(
    @FromCaller() caller: Caller,
    @Param('namespace') namespace: string,
    @Query() _query: CatalogueQuery,
  ): TablesAnswer {
    const tables = this.#tablesOf(caller, namespace);
    return { identifiers: tables.map(({ name }) => ({ namespace: [namespace], name })) };
  }

  @Get('namespaces/:namespace/tables/:table')
  @NamespaceParam
  @TableParam
  @Operation({
    summary: 'Newest metadata of a table, with the address of its bucket',
    answer: TableAnswer,
    refuses: { 503: 'The bucket cannot be read' },
  })
  async table(
    @FromCaller() caller: Caller,
    @Param('namespace') namespace: string,
    @Param('table') name: string,
    @Query() _query: CatalogueQuery,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const table = this.tables.find(caller, namespace, name);
    const { location, json, store } = await this.tables.load(caller, table);
    const config = configOf(store, origin, idOf(table.source) ?? '');
    // the metadata are handed on as they were written
    const answer = `{"metadata-location":${JSON.stringify(location)},"metadata":${json},"config":${JSON.stringify(config)}}`;
    void reply.type('application/json').send(answer);
  }

  @Post('sign/:export_id')
  @HttpCode(200)
  @Operation({
    summary: 'Signs the read of a file of a table, with the credentials of its destination',
    answer: SignedAnswer,
    refuses: { 403: 'The object is none of the table, or is to be written' },
  })
  async sign(
    @FromCaller() caller: Caller,
    @PathId('export_id') exportId: string,
    @Body() { method, uri }: SignRequest,
  ): Promise<SignedAnswer> {
    return { uri: await this.tables.sign(caller, exportId, method, uri), headers: {} };
  }

  /** @throws PublicError not_found */
  #tablesOf(caller: Caller, namespace: string): readonly { readonly name: string }[] {
    const found = this.tables.list(caller).filter((one) => one.namespace === namespace);
    if (found.length === 0) throw new PublicError('not_found', `Namespace does not exist: ${namespace}`);
    return found;
  }
}

/** Settings for the client's own reader of objects: reads are signed here, so no key leaves the platform. */
function configOf(store: TableStore, origin: string, exportId: string): Readonly<Record<string, string>> {
  const signer = { 's3.remote-signing-enabled': 'true', 's3.signer': 'S3V4RestSigner' };
  return {
    's3.region': store.region,
    'client.region': store.region,
    's3.path-style-access': String(store.isBucketInPath),
    's3.signer.endpoint': `iceberg/v1/sign/${exportId}`,
    ...signer,
    ...(origin === '' ? {} : { 's3.signer.uri': origin }),
    ...(store.endpoint === undefined ? {} : { 's3.endpoint': store.endpoint }),
  };
}

/** Tables of exports for the engines that read Iceberg. */
@Module({
  imports: [TenancyModule],
  controllers: [CatalogueController],
  providers: [
    {
      provide: ExportTables,
      inject: [HOMES, Workspaces, API_CONFIG],
      useFactory: (
        homes: Homes,
        workspaces: Workspaces,
        { allowPrivateEndpoints }: Pick<ApiConfig, 'allowPrivateEndpoints'>,
      ) => new ExportTables(homes, workspaces, allowPrivateEndpoints),
    },
  ],
})
export class CatalogueModule {}
