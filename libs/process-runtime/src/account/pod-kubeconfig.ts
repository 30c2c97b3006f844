import type { IssuedToken, KubeClient, KubeConnection } from '#lib/kube';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Pod } from '#lib/resources';
import type { PodFiles } from '../pod-files/pod-files.js';

export interface PodKubeconfigOptions {
  readonly client: KubeClient;
  readonly connection: KubeConnection;
  readonly clock: Clock;
  readonly log: Logger;
}

const LIFE_SECONDS = 3_600;
/** A token is renewed when this much of its life is over. */
const RENEW_AT = 0.8;
const RETRY_MS = 10_000;
/** Interval of checks, so that a token that expired while the machine slept is soon renewed. */
const LOOK_MS = 15_000;

/** Time at which a token is renewed: when the first of the two clocks reaches it. */
interface Due {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/**
 * The kubeconfig of one pod, authenticating as its service account with a token that is bound to the pod and
 * renewed in time. The kubeconfig stays the same; the token is in a file of its own that clients read again.
 */
export class PodKubeconfig {
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(
    private readonly files: PodFiles,
    private readonly options: PodKubeconfigOptions,
  ) {}

  /** Writes the files; answers the kubeconfig's path. Throws when the API server gives no token. */
  async start(pod: Pod): Promise<string> {
    await this.#renew(pod);
    this.files.writeForPod(this.files.kubeconfigFile, this.#render(pod));
    return this.files.kubeconfigFile;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  async #renew(pod: Pod): Promise<void> {
    const { client, clock } = this.options;
    const { name, namespace = '', uid = '' } = pod.metadata;
    const issued = await client.createToken(
      { namespace, name: pod.spec.serviceAccountName ?? 'default' },
      { expirationSeconds: LIFE_SECONDS, boundObject: { apiVersion: 'v1', kind: 'Pod', name, uid } },
    );
    this.files.writeForPod(this.files.tokenFile, issued.token);
    const waitMs = remainingMs(issued, clock) * RENEW_AT;
    this.#after({ wallMs: clock.now().getTime() + waitMs, monotonicMs: clock.monotonicMs() + waitMs }, pod);
  }

  /** Checks both clocks: one stops while a machine sleeps, and the other may be set. */
  #after(due: Due, pod: Pod): void {
    if (this.#isStopped) return;
    const { clock } = this.options;
    const leftMs = Math.min(due.wallMs - clock.now().getTime(), due.monotonicMs - clock.monotonicMs());
    this.#cancel = clock.after(Math.max(0, Math.min(leftMs, LOOK_MS)), () => {
      if (clock.now().getTime() < due.wallMs && clock.monotonicMs() < due.monotonicMs)
        return this.#after(due, pod);
      this.#renew(pod).catch((error: unknown) => {
        this.options.log.warn(
          { pod: pod.metadata.name, problem: errorText(error) },
          'renewing the service account token of a pod failed, retrying',
        );
        const retryMs = clock.monotonicMs() + RETRY_MS;
        this.#after({ wallMs: Infinity, monotonicMs: retryMs }, pod);
      });
    });
  }

  #render(pod: Pod): string {
    const { server, ca, tlsServerName, insecureSkipTlsVerify } = this.options.connection;
    const name = 'pod';
    // JSON is YAML too, and what reads it needs no YAML parser
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': name,
      clusters: [
        {
          name,
          cluster: {
            server,
            ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
            ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
            ...(insecureSkipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
          },
        },
      ],
      users: [{ name, user: { tokenFile: this.files.tokenFile } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace: pod.metadata.namespace } }],
    });
  }
}

function remainingMs(issued: IssuedToken, clock: Clock): number {
  return Math.max(RETRY_MS, new Date(issued.expirationTimestamp).getTime() - clock.now().getTime());
}
