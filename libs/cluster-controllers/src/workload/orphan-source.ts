import { fromMapped, type Informer, type Source } from '#lib/kube';
import { controllerOf } from '#lib/reconcile';
import { keyOf, type KubeObject, type LabelSelector } from '#lib/resources';
import { matchesSelector } from './label-selector.js';

interface Selecting extends KubeObject {
  readonly spec: { readonly selector?: LabelSelector | undefined };
}

/** A child without a controller may be one that an owner wants to adopt. */
export function fromOrphans<C extends KubeObject, O extends Selecting>(
  children: Informer<C>,
  owners: Informer<O>,
): Source {
  return fromMapped(children, (child) =>
    controllerOf(child)
      ? []
      : owners
          .list(child.metadata.namespace)
          .filter(({ spec }) => matchesSelector(spec.selector, child.metadata.labels))
          .map(keyOf),
  );
}
