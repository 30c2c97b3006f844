import { createHmac } from 'node:crypto';
import { type ParsedApiKey, sameHash } from './api-key.js';

/**
 * A credential for one agent, made on behalf of the holder of a key: `aps_ID_END.AGENT.PROOF`, with the name
 * of the agent as base64url, and signed with the hash of the key. It ends with the key.
 */
export interface AgentToken {
  /** Public part of the key. */
  readonly id: string;
  /** Name of the deployment that it opens, on the wire. */
  readonly agent: string;
  /** End, in milliseconds since 1970. */
  readonly untilMs: number;
}

const FORM = /^aps_([0-9A-Za-z]{12})_(\d{1,15})\.([\w-]{1,400})\.([\w-]{43})$/;

export function renderAgentToken(
  { id, hash }: ParsedApiKey,
  { agent, untilMs }: Omit<AgentToken, 'id'>,
): string {
  const name = Buffer.from(agent).toString('base64url');
  return `aps_${id}_${untilMs}.${name}.${proofOf(hash, { id, agent, untilMs }).toString('base64url')}`;
}

/**
 * Reads a token as it came in a header.
 * @returns undefined for everything else; `proves` judges by the hash of the key, and nothing judges the end yet
 */
export function parseAgentToken(
  text: string,
): (AgentToken & { readonly proves: (hash: Buffer) => boolean }) | undefined {
  const [, id, until, name = '', proof = ''] = FORM.exec(text) ?? [];
  if (id === undefined) return undefined;
  const token = { id, agent: Buffer.from(name, 'base64url').toString(), untilMs: Number(until) };
  return { ...token, proves: (hash) => sameHash(proofOf(hash, token), Buffer.from(proof, 'base64url')) };
}

function proofOf(hash: Buffer, { id, agent, untilMs }: AgentToken): Buffer {
  return createHmac('sha256', hash).update(`agentplane agent ${id} ${untilMs} ${agent}`).digest();
}
