import { Flag, Text } from '../wire/fields.js';

/** A condition in the filter language. */
export function FilterText(about: string): PropertyDecorator {
  return Text({ maxLength: 100_000, about });
}

/** The conditions on runs that both wires spell alike. */
export class RunConditions {
  @Flag({ about: 'Whether the runs are the roots of their traces' })
  is_root?: boolean | null;

  @FilterText('Condition on the run')
  filter?: string | null;

  @FilterText('Condition on the root of its trace')
  trace_filter?: string | null;

  @FilterText('Condition that some run of its trace holds')
  tree_filter?: string | null;
}
