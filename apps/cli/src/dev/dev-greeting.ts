export interface GreetingFacts {
  readonly url: string;
  /** Undefined where calls need none. */
  readonly key: string | undefined;
  readonly graphIds: readonly string[];
  readonly dataFolder: string;
}

/** First output of `agentplane dev`; the command can be pasted as it is. */
export function renderGreeting({ url, key, graphIds, dataFolder }: GreetingFacts): string {
  const header = key === undefined ? '' : ` -H 'x-api-key: ${key}'`;
  const input = { messages: [{ role: 'user', content: 'hello' }] };
  const body = JSON.stringify({ assistant_id: graphIds[0] ?? 'agent', input });
  return [
    '',
    `  API      ${url}`,
    `  docs     ${url}/docs`,
    `  Studio   https://smith.langchain.com/studio/?baseUrl=${encodeURIComponent(url)}`,
    `  graphs   ${graphIds.join(', ')}`,
    `  data     ${dataFolder}`,
    '',
    key === undefined
      ? '  Authentication is off: every program of this machine may call, and pages in its browser; no other machine can.'
      : `  Other machines reach this address: every call needs the key ${key}`,
    '',
    '  Try next, in another terminal:',
    ...(key === undefined ? [`    npx agentplane chat --url ${url}`] : []),
    `    curl -s ${url}/runs/wait${header} -H 'content-type: application/json' -d '${body.replaceAll("'", `'\\''`)}'`,
    '',
  ].join('\n');
}
