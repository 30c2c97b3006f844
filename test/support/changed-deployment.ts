import { waitFor } from '#lib/testing';
import type { Rest } from './rest.js';

interface Deployment {
  readonly id: string;
  readonly url: string | null;
  readonly active_revision_id: string | null;
  readonly latest_revision_id: string;
}

interface Revision {
  readonly status: string;
  readonly status_message?: string | null;
}

/** A variable of the agent. */
interface NamedSecret {
  readonly name: string;
  readonly value: string;
}

/** What a deployment asks for beside its image. */
interface Asked {
  readonly secrets?: readonly NamedSecret[];
  readonly sourceConfig?: object;
}

/** Of one rollout on a busy machine. */
const PATIENCE = { timeoutMs: 240_000, intervalMs: 100 };

/** A deployment that is rolled out again and again, by REST. */
export class ChangedDeployment {
  #changes = 0;

  private constructor(
    private readonly rest: Rest,
    private readonly id: string,
    private readonly image: string,
    private readonly secrets: readonly NamedSecret[],
  ) {}

  /** Deploys the image and waits until it serves. */
  static async create(
    rest: Rest,
    image: string,
    { secrets = [], sourceConfig = {} }: Asked = {},
  ): Promise<ChangedDeployment> {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', {
      name: image,
      source: 'internal_image',
      source_config: sourceConfig,
      secrets,
      source_revision_config: { image_uri: image },
      min_ready_seconds: 0,
    });
    if (status !== 201) throw new Error(`POST /v2/deployments: ${status} ${JSON.stringify(body)}`);
    const deployment = new ChangedDeployment(rest, body.id, image, secrets);
    await deployment.#served();
    return deployment;
  }

  async url(): Promise<string> {
    const { url } = await this.#read();
    if (url === null) throw new Error('the deployment has no url');
    return url;
  }

  async active(): Promise<string> {
    return (await this.#read()).active_revision_id ?? '';
  }

  /** A new revision takes over. */
  async change(): Promise<void> {
    await this.#patch(this.image);
    await this.#served();
  }

  /** A new revision of an image that does not start fails, and the former one goes on. */
  async fail(image: string): Promise<void> {
    const serving = await this.active();
    const { latest_revision_id: failing } = await this.#patch(image);
    await this.#ended(failing, 'DEPLOY_FAILED');
    const { active_revision_id: active } = await this.#read();
    if (active !== serving) throw new Error(`${active} serves instead of ${serving}`);
  }

  /** A new revision is given up for the next one, before it is ready. */
  async cancel(): Promise<void> {
    const { latest_revision_id: cancelled } = await this.#patch(this.image);
    await waitFor(async () => (await this.#revision(cancelled)).status === 'DEPLOYING', {
      ...PATIENCE,
      what: 'the revision that is to be cancelled',
    });
    await this.#patch(this.image);
    await this.#ended(cancelled, 'SKIPPED');
    await this.#served();
  }

  /** Goes back to a revision that served. */
  async rollBack(to: string): Promise<void> {
    const path = `/v2/deployments/${this.id}/revisions/${to}/redeploy`;
    const { status, body } = await this.rest.post(path);
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
    await this.#served();
  }

  async #patch(image: string): Promise<Deployment> {
    const { status, body } = await this.rest.patch<Deployment>(`/v2/deployments/${this.id}`, {
      source_revision_config: { image_uri: image },
      secrets: [...this.secrets, { name: 'CHANGE', value: String(this.#changes++) }],
    });
    if (status !== 200) throw new Error(`PATCH: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  async #read(): Promise<Deployment> {
    return (await this.rest.get<Deployment>(`/v2/deployments/${this.id}`)).body;
  }

  async #revision(id: string): Promise<Revision> {
    return (await this.rest.get<Revision>(`/v2/deployments/${this.id}/revisions/${id}`)).body;
  }

  async #ended(id: string, expected: string): Promise<void> {
    let last: Revision | undefined;
    const isEnded = async (): Promise<boolean> => {
      last = await this.#revision(id);
      return ['DEPLOYED', 'DEPLOY_FAILED', 'SKIPPED'].includes(last.status);
    };
    await waitFor(isEnded, { ...PATIENCE, what: `revision ${id} to be ${expected}` });
    if (last?.status !== expected)
      throw new Error(`revision ${id} is ${last?.status}, not ${expected}: ${last?.status_message}`);
  }

  async #served(): Promise<void> {
    await waitFor(
      async () => {
        const { active_revision_id: active, latest_revision_id: latest, url } = await this.#read();
        return active === latest && url !== null;
      },
      { ...PATIENCE, what: 'the new revision to serve' },
    );
  }
}
