import type { FactoryProvider, InjectionToken } from '@nestjs/common';

/** Name of a provider that is no class, with the type of what it provides. */
export type Token<T> = symbol & { readonly provides?: T };

type Source<T> = Token<T> | (abstract new (...parts: never[]) => T);
type Sources<A extends readonly unknown[]> = { readonly [K in keyof A]: Source<A[K]> };

/** A provider whose parts are checked: of a class that takes them as they are, or by a function that makes it. */
export function provided<T, A extends readonly unknown[]>(
  type: new (...parts: A) => T,
  inject: Sources<NoInfer<A>>,
): FactoryProvider;
export function provided<T, A extends readonly unknown[]>(
  type: Source<T>,
  inject: Sources<A>,
  make: (...parts: A) => NoInfer<T>,
): FactoryProvider;
export function provided(
  type: Source<object>,
  inject: readonly Source<unknown>[],
  make = (...parts: unknown[]) => Reflect.construct(type as new () => object, parts) as unknown,
): FactoryProvider {
  return { provide: type as InjectionToken, inject: [...inject] as InjectionToken[], useFactory: make };
}
