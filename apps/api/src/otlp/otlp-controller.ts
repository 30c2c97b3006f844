import { applyDecorators, Headers, HttpCode, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { writeExportAnswer } from '#lib/otlp';
import { FromCaller } from '../tenancy/caller.js';
import { FromBody, type SentBody } from '../trace/held-body.js';
import { Described, Operation, Resource } from '../wire/operation.js';
import { Post } from '../wire/route.js';
import { WRITE_RUNS } from '../wire/route-access.js';
import { Answered, JSON_VALUE, object, Perhaps, TEXT } from '../wire/shape.js';
import { PROTOBUF, spanEncodingOf } from './answer-statuses.js';
import { SpanIngestion } from './span-ingestion.js';

/** The body is read by the OTLP library; this class only describes it. */
class ExportTracesRequest {
  @Perhaps(JSON_VALUE, 'Spans by resource and scope, as in opentelemetry.proto.collector.trace.v1')
  readonly resourceSpans?: unknown;
}

class PartialSuccessAnswer {
  @Answered(TEXT, 'How many spans were not stored, as decimal text') readonly rejectedSpans: string;
  @Answered(TEXT, 'Why, or what was left out of spans that were stored') readonly errorMessage: string;
}

class ExportTracesAnswer {
  @Perhaps(object(() => PartialSuccessAnswer), 'Absent when every span was stored as it came')
  readonly partialSuccess?: PartialSuccessAnswer;
}

class IgnoredAnswer {
  @Answered(TEXT, 'That nothing was stored, and what to set') readonly errorMessage: string;
}

class ExportOthersAnswer {
  @Answered(object(() => IgnoredAnswer), 'Always') readonly partialSuccess: IgnoredAnswer;
}

const TRACES_ONLY =
  'metrics and logs are not stored here: set OTEL_METRICS_EXPORTER and OTEL_LOGS_EXPORTER to none, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT instead of OTEL_EXPORTER_OTLP_ENDPOINT';

/** Decorators of a route that takes a signal other than spans. */
function Ignored(): MethodDecorator {
  return applyDecorators(
    HttpCode(200),
    RouteConfig({ rawBody: true, isOtlp: true }),
    Described(({ ApiConsumes }) => ApiConsumes('application/json', PROTOBUF)),
    Operation({ summary: 'Stores nothing, and says so as a partial success', answer: ExportOthersAnswer }),
  );
}

/** Spans of any OpenTelemetry exporter, on the wire of OTLP/HTTP. */
@Resource('OpenTelemetry', ['otel/v1', 'api/v1/otel/v1'])
export class OtlpController {
  constructor(private readonly ingestion: SpanIngestion) {}

  @Post('traces', WRITE_RUNS, {
    summary: 'Stores spans as runs; refusals are a google.rpc.Status in the encoding of the request',
    answer: ExportTracesAnswer,
    body: ExportTracesRequest,
    refuses: {
      400: 'The body cannot be decoded',
      429: 'Too many traces arrive at once: try again',
    },
    config: { rawBody: true, isOtlp: true },
  })
  @Described(({ ApiConsumes }) => ApiConsumes('application/json', PROTOBUF))
  async export(
    @FromCaller() caller: Caller,
    @Headers('content-type') contentType: string | undefined,
    @Headers() headers: Readonly<Record<string, unknown>>,
    @FromBody('protobuf or JSON') body: SentBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ExportTracesAnswer | Buffer> {
    const encoding = spanEncodingOf(contentType);
    const { rejected, message } = await this.ingestion.store(caller, body, { encoding, headers });
    if (encoding === 'protobuf') {
      void reply.header('content-type', PROTOBUF);
      return writeExportAnswer(rejected, message);
    }
    if (rejected === 0 && message === '') return {};
    return { partialSuccess: { rejectedSpans: String(rejected), errorMessage: message } };
  }

  @Post('metrics', WRITE_RUNS)
  @Ignored()
  ignoreMetrics(
    @Headers('content-type') contentType: string | undefined,
    @FromBody('protobuf or JSON') body: SentBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): ExportOthersAnswer | Buffer {
    return ignore(contentType, body, reply);
  }

  @Post('logs', WRITE_RUNS)
  @Ignored()
  ignoreLogs(
    @Headers('content-type') contentType: string | undefined,
    @FromBody('protobuf or JSON') body: SentBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): ExportOthersAnswer | Buffer {
    return ignore(contentType, body, reply);
  }
}

/**
 * Reads the body to its end and answers a partial success. An exporter that is set up for all signals would report any
 * refusal as a failure, again and again.
 */
function ignore(
  contentType: string | undefined,
  { stream }: SentBody,
  reply: FastifyReply,
): ExportOthersAnswer | Buffer {
  const encoding = spanEncodingOf(contentType);
  stream.resume();
  if (encoding === 'json') return { partialSuccess: { errorMessage: TRACES_ONLY } };
  void reply.header('content-type', PROTOBUF);
  return writeExportAnswer(0, TRACES_ONLY);
}
