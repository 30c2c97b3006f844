import { parser } from '@prometheus-io/lezer-promql';

/** One series that an expression asks for. */
export interface Selector {
  readonly metric: string;
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
}

/** What an expression of PromQL names. */
export interface Expression {
  readonly selectors: readonly Selector[];
  /** Labels by which it groups or joins. */
  readonly grouping: readonly string[];
}

/** Reads an expression by the grammar of Prometheus. Throws with the place where it is none. */
export function parsePromql(text: string): Expression {
  const of = (node: { readonly from: number; readonly to: number }) => text.slice(node.from, node.to);
  const selectors: Selector[] = [];
  const grouping: string[] = [];
  parser.parse(text).iterate({
    enter: ({ type, name, node }) => {
      if (type.isError)
        throw new Error(`not PromQL at ${String(node.from + 1)}, before "${text.slice(node.from)}": ${text}`);
      if (name === 'GroupingLabels') grouping.push(...node.getChildren('LabelName').map(of));
      if (name !== 'VectorSelector') return;
      const metric = node.getChild('Identifier');
      const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
      selectors.push({
        metric: metric === null ? '' : of(metric),
        matchers: matchers.map((matcher) => {
          const [label, operator, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((kind) => {
            const child = matcher.getChild(kind);
            return child === null ? '' : of(child);
          });
          return { label: label ?? '', operator: operator ?? '', value: (value ?? '').slice(1, -1) };
        }),
      });
    },
  });
  return { selectors, grouping };
}
