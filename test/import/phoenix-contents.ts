import { waitFor } from '#lib/testing';

/** Traces with ten spans each in a Phoenix server, judged by people and models, and a dataset. */
export async function fillPhoenix(url: string, traces: number): Promise<{ readonly tokens: number }> {
  const send = async (path: string, body: unknown): Promise<void> => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  await send('/v1/projects', { name: 'support', description: 'of people' });
  for (let at = 0; at < traces; at += 50) {
    const some = Array.from({ length: Math.min(50, traces - at) }, (_, more) => at + more);
    await send('/v1/projects/support/spans', { data: some.flatMap(spansOf) });
  }
  for (let at = 0; at < traces; at += 50) {
    const some = Array.from({ length: Math.min(50, traces - at) }, (_, more) => at + more);
    // spans are stored after they are answered
    const annotate = () => send('/v1/span_annotations?sync=true', { data: some.map(annotationOf) });
    await waitFor(
      () =>
        annotate().then(
          () => true,
          () => false,
        ),
      { what: 'the spans' },
    );
    await send('/v1/trace_annotations?sync=true', {
      data: some.filter((one) => one % 2 === 0).map((one) => ({ ...judged('tone'), trace_id: traceId(one) })),
    });
  }
  const inputs = Array.from({ length: 250 }, (_, at) => ({ n: at }));
  const outputs = inputs.map(({ n }) => ({ twice: 2 * n }));
  await send('/v1/datasets/upload?sync=true', { action: 'create', name: 'questions', inputs, outputs });
  return { tokens: traces * 15 };
}

const traceId = (trace: number): string => `a${(trace + 1).toString(16).padStart(31, '0')}`;
const spanId = (trace: number, at: number): string =>
  `b${(trace * 10 + at + 1).toString(16).padStart(15, '0')}`;
const BEGUN = Date.UTC(2026, 5, 1);

function spansOf(trace: number): readonly object[] {
  return Array.from({ length: 10 }, (_, at) => {
    const start = BEGUN + trace * 1_000 + at;
    const isModel = at === 1;
    return {
      name: at === 0 ? 'agent' : `step ${at}`,
      context: { trace_id: traceId(trace), span_id: spanId(trace, at) },
      parent_id: at === 0 ? null : spanId(trace, at - 1),
      span_kind: at === 0 ? 'AGENT' : isModel ? 'LLM' : 'CHAIN',
      start_time: new Date(start).toISOString().replace('Z', '123Z'),
      end_time: new Date(start + 500).toISOString(),
      status_code: at === 9 ? 'ERROR' : 'OK',
      status_message: at === 9 ? 'broken' : '',
      attributes: {
        'input.value': JSON.stringify({ question: `ü ${trace}` }),
        'input.mime_type': 'application/json',
        'output.value': 'yes',
        'session.id': `session-${trace % 5}`,
        ...(isModel
          ? { 'llm.model_name': 'm', 'llm.token_count.prompt': 10, 'llm.token_count.completion': 5 }
          : {}),
      },
    };
  });
}

const judged = (name: string): object => ({
  name,
  annotator_kind: 'HUMAN',
  result: { label: 'good', score: 1, explanation: 'fine' },
});

const annotationOf = (trace: number): object => ({ ...judged('helpful'), span_id: spanId(trace, 1) });
