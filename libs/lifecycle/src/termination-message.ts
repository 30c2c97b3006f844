/** Exit code of an agent server whose agent cannot be loaded: starting it again cannot help. */
export const EXIT_GRAPH_LOAD_FAILED = 78;

/** Exit code of an agent server that ended because something it depends on was unavailable: it is no crash. */
export const EXIT_DEPENDENCY_UNAVAILABLE = 75;

/** The reason of a build that ended because a disk was too full: it can be made again later. */
export const DISK_FULL = 'DiskFull';

/** The reason of a build whose registry of images was unavailable: it can be made again later. */
export const REGISTRY_UNAVAILABLE = 'RegistryUnavailable';

/** The reason of a build that ended well; its message is the reference of the image, with its digest. */
export const IMAGE_PUSHED = 'ImagePushed';

/** Kubernetes cuts termination messages at 4096 bytes. */
const MAX_MESSAGE_CHARS = 3_000;

/** Reason why a container ended, as it leaves it for the node. */
export interface TerminationMessage {
  readonly reason: string;
  readonly message: string;
}

export function formatTerminationMessage({ reason, message }: TerminationMessage): string {
  return JSON.stringify({ reason, message: message.slice(0, MAX_MESSAGE_CHARS) });
}

/** The message of a container that ended: a plain text, of programs that know no more, is a message too. */
export function readTerminationMessage(text: string): string {
  return parseTerminationMessage(text)?.message ?? text;
}

/** The message of a container with its reason; undefined when it is of another form than this platform's programs leave. */
export function parseTerminationMessage(
  text: string,
): (Partial<TerminationMessage> & Pick<TerminationMessage, 'message'>) | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const message: unknown = Reflect.get(parsed, 'message');
    const reason: unknown = Reflect.get(parsed, 'reason');
    if (typeof message !== 'string') return undefined;
    return { message, ...(typeof reason === 'string' ? { reason } : {}) };
  } catch {
    return undefined; // not JSON
  }
}
