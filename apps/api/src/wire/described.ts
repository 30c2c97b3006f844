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

/** A decorator of @nestjs/swagger that is applied only when the OpenAPI document is built. */
export function Described(
  choose: (descriptions: Descriptions) => ClassDecorator | MethodDecorator | PropertyDecorator,
): ClassDecorator & MethodDecorator & PropertyDecorator {
  const later: AnyDecorator = (target, key, descriptor) => {
    waiting.push((descriptions) => (choose(descriptions) as AnyDecorator)(target, key, descriptor));
  };
  return later;
}

/** Applies what waited for the package. */
export function describeAll(descriptions: Descriptions): void {
  for (const apply of waiting.splice(0)) apply(descriptions);
}
