type Swagger = typeof import('@nestjs/swagger');
type AnyDecorator = (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => void;

const waiting: ((swagger: Swagger) => void)[] = [];

/**
 * A decorator of @nestjs/swagger that is applied only when the OpenAPI document is requested. Loading the package
 * takes 15 MB and a tenth of a second, and most installations never show the document.
 */
export function Described(
  choose: (swagger: Swagger) => ClassDecorator | MethodDecorator | PropertyDecorator,
): ClassDecorator & MethodDecorator & PropertyDecorator {
  const later: AnyDecorator = (target, key, descriptor) => {
    waiting.push((swagger) => (choose(swagger) as AnyDecorator)(target, key, descriptor));
  };
  return later;
}

/** Loads the package and applies what waited for it. */
export async function loadDescriptions(): Promise<Swagger> {
  const swagger = await import('@nestjs/swagger');
  for (const apply of waiting.splice(0)) apply(swagger);
  return swagger;
}
