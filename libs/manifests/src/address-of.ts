import { ANNOTATION, type ObjectMeta, type Pod } from '#lib/resources';
import { urlHost } from '#lib/url';
import type { AddressMode } from './address-mode.js';

const LOOPBACK = '127.0.0.1';

/** The part of a Service that an address needs. */
export interface Addressable {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly ports?: readonly { readonly port: number }[] };
}

/**
 * URL under which a Service is called, without a slash at its end; undefined on loopback until the node has given it a
 * port. A Service with several ports is called on its first.
 */
export function addressOf(service: Addressable, mode: AddressMode): string | undefined {
  const port = service.spec?.ports?.[0]?.port ?? 80;
  if (mode === 'cluster-dns') {
    const { name, namespace = 'default' } = service.metadata;
    return `http://${name}.${namespace}.svc${port === 80 ? '' : `:${port}`}`;
  }
  const noted = service.metadata.annotations?.[ANNOTATION.loopbackPort];
  const real = noted === undefined ? undefined : realPort(noted, port);
  return real === undefined ? undefined : `http://${LOOPBACK}:${real}`;
}

/**
 * True when a URL can be the result of `addressOf` for a Service. Statuses are texts of any of their writers,
 * and programs that follow them reach more of the network than those writers do.
 */
export function mayBeAddressOf(
  url: string,
  { name, namespace = 'default' }: Pick<ObjectMeta, 'name' | 'namespace'>,
  mode: AddressMode,
): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && hostname === (mode === 'loopback' ? LOOPBACK : `${name}.${namespace}.svc`);
}

/**
 * URL under which the agent server of a pod is called, past its Service and whether or not it is ready; undefined while
 * the pod has no address.
 */
export function podAddressOf({ metadata, spec, status }: Pod, mode: AddressMode): string | undefined {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  const port = ports.find(({ name }) => name === 'http')?.containerPort;
  if (port === undefined) return undefined;
  if (mode === 'loopback') {
    const real = realPort(metadata.annotations?.[ANNOTATION.loopbackPorts] ?? '', port);
    return real === undefined ? undefined : `http://${LOOPBACK}:${real}`;
  }
  const ip = status?.podIP;
  if (ip === undefined) return undefined;
  return `http://${urlHost(ip)}:${port}`;
}

/** The annotation holds a number, or JSON from port to real port. */
function realPort(noted: string, port: number): number | undefined {
  if (/^\d+$/.test(noted)) return Number(noted);
  try {
    const ports: unknown = JSON.parse(noted);
    const found = typeof ports === 'object' && ports !== null ? Reflect.get(ports, String(port)) : undefined;
    return typeof found === 'number' ? found : undefined;
  } catch {
    return undefined;
  }
}
