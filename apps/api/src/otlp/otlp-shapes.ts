import { Answered, JSON_VALUE, object, Perhaps, TEXT } from '../wire/shape.js';

/** The body is read by the OTLP library; this class only describes it. */
export class ExportTracesRequest {
  @Perhaps(JSON_VALUE, 'Spans by resource and scope, as in opentelemetry.proto.collector.trace.v1')
  readonly resourceSpans?: unknown;
}

export class PartialSuccessAnswer {
  @Answered(TEXT, 'How many spans were not stored, as decimal text') readonly rejectedSpans: string;
  @Answered(TEXT, 'Why, or what was left out of spans that were stored') readonly errorMessage: string;
}

export class ExportTracesAnswer {
  @Perhaps(object(() => PartialSuccessAnswer), 'Absent when every span was stored as it came')
  readonly partialSuccess?: PartialSuccessAnswer;
}

export class IgnoredAnswer {
  @Answered(TEXT, 'That nothing was stored, and what to set') readonly errorMessage: string;
}

export class ExportOthersAnswer {
  @Answered(object(() => IgnoredAnswer), 'Always') readonly partialSuccess: IgnoredAnswer;
}
