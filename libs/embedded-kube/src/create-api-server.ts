import { exactIntegers } from '#lib/json';
import { metrics } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { urlHost } from '#lib/url';
import type {
  ApiServer,
  ApiServerOptions,
  IssuedCertificate,
  KubeconfigOptions,
  KubeIdentity,
} from './api-server-options.js';
import { auditIn } from './audit/audit-request.js';
import { Authenticator } from './authn/authenticator.js';
import { MASTERS } from './authn/user.js';
import { Authorizer } from './authz/authorizer.js';
import { EscalationCheck } from './authz/escalation.js';
import { bootstrap } from './bootstrap/bootstrap.js';
import { Discovery } from './discovery/discovery.js';
import { HeldAnswers } from './http/held-answers.js';
import { TlsListener } from './http/tls-listener.js';
import { OpenApi } from './openapi/openapi.js';
import { CertificateAuthority, openEncryptionKeys, renderKubeconfig } from './pki/certificate-authority.js';
import { ISSUER, TokenIssuer } from './pki/token-issuer.js';
import { builtinTypes, EventExpiry } from './registry/builtin-types.js';
import { absentTypes, CrdInstaller } from './registry/crd-installer.js';
import { listenerAccounts } from './registry/listener-accounts.js';
import { ObjectService } from './registry/object-service.js';
import { ResourceHandlers } from './registry/resource-handlers.js';
import { showQuotas } from './registry/quota-objects.js';
import { TypeRegistry } from './registry/type-registry.js';
import { apiHandler } from './routing/api-handler.js';
import { ChangeLog } from './store/change-log.js';
import { JsonCipher } from './store/json-cipher.js';
import { ObjectStore } from './store/object-store.js';
import { subresourceHandlers } from './subresource/all-subresources.js';
import { ScaleHandler } from './subresource/scale.js';
import { WatchHub } from './watch/watch-hub.js';

/** Lets a scrape read the server's watches and the length of its change log. @returns ends the reading */
function readServer(store: ObjectStore, hub: WatchHub): () => void {
  const ends = [
    metrics.kubeWatches.read(() => hub.size),
    metrics.kubeChangeLog.read(() => store.history.length),
  ];
  return () => {
    for (const end of ends) end();
  };
}

const DEFAULT_HISTORY_CHANGES = 5000;
const TEN_YEARS_SECONDS = 10 * 365 * 24 * 3600;

/** Makes an API server; nothing happens before its `start`. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  exactIntegers();
  return new EmbeddedApiServer(options);
}

interface Running {
  readonly store: ObjectStore;
  readonly tokens: TokenIssuer;
  readonly listener: TlsListener;
  readonly port: number;
  readonly expiry: EventExpiry;
}

class EmbeddedApiServer implements ApiServer {
  readonly name = 'kube-apiserver';
  #authority: Promise<CertificateAuthority> | undefined;
  #running: Running | undefined;
  #endReadings: () => void = () => undefined;

  constructor(private readonly options: ApiServerOptions) {}

  get port(): number {
    return this.#running?.port ?? this.options.port;
  }

  get url(): string {
    const host = this.#host;
    const named = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
    return `https://${urlHost(named)}:${this.port}`;
  }

  async start(): Promise<void> {
    const { pkiFolder, databaseUri, log, quota, historyChanges = DEFAULT_HISTORY_CHANGES } = this.options;
    const clock = this.#clock;
    const tokens = await TokenIssuer.open(pkiFolder);
    const store = new ObjectStore({
      log: new ChangeLog(databaseUri),
      cipher: new JsonCipher(await openEncryptionKeys(pkiFolder)),
      clock,
      logger: log,
      maxChanges: historyChanges,
      ...(quota ? { quota } : {}),
    });
    try {
      await store.open();
      const { listener, port } = await this.#serve(store, tokens);
      this.#running = { store, tokens, listener, port, expiry: new EventExpiry(store, clock, log) };
      log.info({ port, revision: store.revision }, 'Kubernetes API server listening');
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    this.#endReadings();
    running?.expiry.stop();
    await running?.listener.close();
    await running?.store.close();
  }

  async caCertificate(): Promise<string> {
    return (await this.#ca()).certificate;
  }

  async adminKubeconfig(options: KubeconfigOptions = {}): Promise<string> {
    return this.#certificateKubeconfig('admin', [MASTERS], options);
  }

  async kubeconfigFor(identity: KubeIdentity, options: KubeconfigOptions = {}): Promise<string> {
    if (identity.kind === 'certificate')
      return this.#certificateKubeconfig(identity.user, identity.groups, options);
    if (!this.#running) throw new Error('the API server is not running; call start first');
    const { store, tokens } = this.#running;
    const { namespace, name, expirationSeconds = TEN_YEARS_SECONDS } = identity;
    const account = store.get({ resource: 'serviceaccounts', namespace, name });
    if (!account)
      throw new Error(
        `making a kubeconfig failed: ServiceAccount ${namespace}/${name} not found; create it first`,
      );
    const subject = { namespace, name, uid: account.object.metadata.uid ?? '' };
    const token = await tokens.issue({
      subject,
      audiences: [ISSUER],
      expirationSeconds,
      now: this.#clock.now(),
    });
    return renderKubeconfig(this.url, await this.caCertificate(), { token }, options);
  }

  async issueServingCertificate(names: readonly string[]): Promise<IssuedCertificate> {
    return (await this.#ca()).issue({ kind: 'server', commonName: names[0] ?? 'localhost', names });
  }

  async #certificateKubeconfig(
    user: string,
    groups: readonly string[],
    options: KubeconfigOptions,
  ): Promise<string> {
    const authority = await this.#ca();
    const issued = await authority.issue({ kind: 'client', user, groups });
    return renderKubeconfig(this.url, authority.certificate, issued, options);
  }

  async #serve(store: ObjectStore, tokens: TokenIssuer): Promise<{ listener: TlsListener; port: number }> {
    const { log, nodeLogDialer } = this.options;
    const clock = this.#clock;
    const authority = await this.#ca();
    const types = new TypeRegistry([...builtinTypes(), ...absentTypes()]);
    const objects = new ObjectService(store, clock);
    const discovery = new Discovery(types);
    const authenticator = new Authenticator({ tokens, store, now: () => clock.now() });
    const authorizer = new Authorizer(store);
    new CrdInstaller({ store, types, objects, log });
    await bootstrap(types, objects);
    await showQuotas({ store, types, objects, log });
    const escalation = new EscalationCheck(authorizer);
    const hub = new WatchHub(store);
    this.#endReadings = readServer(store, hub);
    const findListeners = listenerAccounts(store);
    const answers = new HeldAnswers();
    const resources = new ResourceHandlers({
      store,
      objects,
      hub,
      clock,
      authorizer,
      escalation,
      findListeners,
      answers,
    });
    const subresources = subresourceHandlers({
      store,
      objects,
      types,
      tokens,
      authenticator,
      authorizer,
      authority,
      clock,
      nodeLogDialer,
      answers,
    });
    const names = ['127.0.0.1', '::1', 'localhost', 'kubernetes.default.svc', this.#host].filter(
      (name) => name !== '0.0.0.0' && name !== '::',
    );
    const serving = await authority.issue({
      kind: 'server',
      commonName: 'kube-apiserver',
      names: [...new Set(names)],
    });
    const listener = new TlsListener({
      audit: auditIn(this.options.audit),
      key: serving.privateKey,
      certificate: serving.certificate,
      clientCa: authority.certificate,
      authenticate: (request) => authenticator.authenticate(request),
      findListeners,
      knowsResource: ({ group, version, resource }) =>
        types.findServed(group, version, resource) !== undefined,
      handler: apiHandler({
        authorizer,
        types,
        resources,
        subresources,
        scale: new ScaleHandler(objects),
        discovery,
        openApi: new OpenApi(types, discovery),
        address: () => new URL(this.url).host,
      }),
      log,
      clock,
    });
    return { listener, port: await listener.listen(this.#host, this.options.port) };
  }

  get #host(): string {
    return this.options.listenHost ?? '127.0.0.1';
  }

  get #clock() {
    return this.options.clock ?? systemClock;
  }

  #ca(): Promise<CertificateAuthority> {
    this.#authority ??= CertificateAuthority.open(this.options.pkiFolder, this.#clock.now());
    return this.#authority;
  }
}
