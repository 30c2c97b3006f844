import { isIP } from 'node:net';

/** Origin of LangGraph Studio, which people open beside their agent. */
const STUDIO = /^https:\/\/([a-z]+\.)?smith\.langchain\.com$/;

/** True when only programs of this machine reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** The name in a `Host` header or an origin. A page elsewhere can point a name of its own to this machine. */
export function isOwnName(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  return isLoopback(name) || name.endsWith('.localhost');
}

/**
 * True when a page may call an agent that asks for no key. Every page in a browser of this machine reaches
 * its address, and would run the agent with all its tools.
 * @param allowed origins that the agent names; `*` is any
 */
export function mayCall(origin: string, allowed: readonly string[]): boolean {
  if (STUDIO.test(origin) || allowed.includes('*') || allowed.includes(origin.toLowerCase())) return true;
  return URL.canParse(origin) && isOwnName(new URL(origin).hostname);
}
