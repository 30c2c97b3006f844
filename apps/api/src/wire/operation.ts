import { applyDecorators } from '@nestjs/common';
import { Described } from './described.js';

type AnswerClass = new () => object;

/** Description of a route in the OpenAPI document, beside the parts that follow from its parameters. */
export interface OperationText {
  /** One line: the route's effect. */
  readonly summary: string;
  /** Status of the answer; 200 unless given. */
  readonly status?: number;
  /** Class of the answer; absent when it has no body. In an array: a list of these. */
  readonly answer?: AnswerClass | readonly [AnswerClass];
  /** Refusals of this route beside those that every route has: status → when. */
  readonly refuses?: Readonly<Record<number, string>>;
  /** Class of a body that the route reads by itself. */
  readonly body?: AnswerClass;
}

/** Every refusal but 422: `{"detail": text}`. */
const PROBLEM_REFERENCE = '#/components/schemas/Problem';

/** A refusal as JSON, with an example for its status. */
export function problem(detail: string): {
  readonly 'application/json': { readonly schema: { readonly $ref: string }; readonly example: object };
} {
  return { 'application/json': { schema: { $ref: PROBLEM_REFERENCE }, example: { detail } } };
}

/** Describes a route in the OpenAPI document. */
export function Operation(text: OperationText): MethodDecorator {
  const { summary, status = 200, answer, refuses = {}, body } = text;
  const [type, isArray] = Array.isArray(answer) ? [answer[0] as AnswerClass, true] : [answer, false];
  return Described(({ ApiOperation, ApiResponse, ApiBody }) =>
    applyDecorators(
      ApiOperation({ summary }),
      ApiResponse({ status, description: summary, ...(type ? { type: type as AnswerClass, isArray } : {}) }),
      ...Object.entries(refuses).map(([refused, description]) =>
        ApiResponse({
          status: Number(refused),
          description,
          content: problem(description),
        }),
      ),
      ...(body ? [ApiBody({ type: body })] : []),
    ),
  );
}
