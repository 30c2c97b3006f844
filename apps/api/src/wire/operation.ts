import { applyDecorators, Controller, HttpCode } from '@nestjs/common';

/** A class whose values are described. */
type AnyClass = new () => object;
type AnyDecorator = (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => void;

/**
 * The decorators of @nestjs/swagger that are used here. Written down once more, because the package is there in
 * development only: a started platform serves the document that was generated.
 */
export interface Descriptions {
  ApiBody(options: { readonly type: AnyClass }): MethodDecorator;
  ApiConsumes(...types: string[]): MethodDecorator;
  ApiExcludeController(): ClassDecorator;
  ApiHeader(options: {
    readonly name: string;
    readonly required: boolean;
    readonly description: string;
  }): MethodDecorator;
  ApiOperation(options: { readonly summary: string }): MethodDecorator;
  ApiParam(options: { readonly name: string; readonly schema: object }): MethodDecorator;
  ApiProperty(options: object): PropertyDecorator;
  ApiQuery(options: {
    readonly name: string;
    readonly required: boolean;
    readonly type: unknown;
    readonly description: string;
  }): MethodDecorator;
  ApiResponse(options: {
    readonly status: number;
    readonly description: string;
    readonly type?: AnyClass;
    readonly isArray?: boolean;
    readonly content?: object;
  }): MethodDecorator;
  ApiTags(...tags: string[]): ClassDecorator;
}

const waiting: ((descriptions: Descriptions) => void)[] = [];

/**
 * A decorator of @nestjs/swagger that is applied only when the OpenAPI document is built.
 * @param when `first`: before the decorators below it
 */
export function Described(
  choose: (descriptions: Descriptions) => ClassDecorator | MethodDecorator | PropertyDecorator,
  when: 'first' | 'next' = 'next',
): ClassDecorator & MethodDecorator & PropertyDecorator {
  const later: AnyDecorator = (target, key, descriptor) => {
    const apply = (descriptions: Descriptions) =>
      (choose(descriptions) as AnyDecorator)(target, key, descriptor);
    if (when === 'first') waiting.unshift(apply);
    else waiting.push(apply);
  };
  return later;
}

/** Applies what waited for the package. */
export function describeAll(descriptions: Descriptions): void {
  for (const apply of waiting.splice(0)) apply(descriptions);
}

/** A controller, with the part of the OpenAPI document that its routes are in. */
export function Resource(tag: string, paths: string | string[] = '/'): ClassDecorator {
  return applyDecorators(
    Controller(paths),
    Described(({ ApiTags }) => ApiTags(tag)),
  );
}

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

/** Sets the status of the answer of a route, and describes the route in the OpenAPI document. */
export function Operation(text: OperationText): MethodDecorator {
  const { summary, status = 200, answer, refuses = {}, body } = text;
  const [type, isArray] = Array.isArray(answer) ? [answer[0] as AnswerClass, true] : [answer, false];
  return applyDecorators(
    HttpCode(status),
    Described(
      ({ ApiOperation, ApiResponse, ApiBody }) =>
        applyDecorators(
          ApiOperation({ summary }),
          ApiResponse({
            status,
            description: summary,
            ...(type ? { type: type as AnswerClass, isArray } : {}),
          }),
          ...Object.entries(refuses).map(([refused, description]) =>
            ApiResponse({
              status: Number(refused),
              description,
              content: problem(description),
            }),
          ),
          ...(body ? [ApiBody({ type: body })] : []),
        ),
      'first',
    ),
  );
}
