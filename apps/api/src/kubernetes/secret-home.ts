import { isNotFound, type KubeClient } from '#lib/kube';
import { type KubeObject, LABEL, MANAGED_BY, SECRET_TYPE, SECRETS } from '#lib/resources';

/** Written into `LABEL.component` of Secrets that hold what users sent. */
export type SecretPurpose = 'user-secrets' | 'destination-credentials';

/** Secrets with values that users sent. They go in, only names come out. */
export class SecretHome {
  constructor(private readonly client: KubeClient) {}

  async create(
    place: { readonly namespace: string; readonly name: string },
    purpose: SecretPurpose,
    values: Readonly<Record<string, string>>,
    owner?: KubeObject,
  ): Promise<void> {
    const encoded = Object.entries(values).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ]);
    await this.client.create(SECRETS, {
      metadata: {
        ...place,
        labels: { [LABEL.managedBy]: MANAGED_BY, [LABEL.component]: purpose },
        ...(owner ? { ownerReferences: [ownerReference(owner)] } : {}),
      },
      type: purpose === 'destination-credentials' ? SECRET_TYPE.destinationCredentials : 'Opaque',
      immutable: true,
      data: Object.fromEntries(encoded) as Record<string, string>,
    });
  }

  /** The owner is made after the Secret that it names; from then on the Secret goes with it. */
  async adopt(
    place: { readonly namespace: string; readonly name: string },
    owner: KubeObject,
  ): Promise<void> {
    await this.client.merge(SECRETS, place, {
      metadata: { ownerReferences: [ownerReference(owner)] },
    });
  }

  /** Names of what is in the Secret; none when it does not exist. */
  async names(place: { readonly namespace: string; readonly name: string }): Promise<readonly string[]> {
    const secret = await this.client.find(SECRETS, place);
    return Object.keys(secret?.data ?? {}).sort();
  }

  /** Removes a Secret that this program made; one that a person keeps stays. */
  async deleteOurs(
    place: { readonly namespace: string; readonly name: string },
    purpose: SecretPurpose,
  ): Promise<void> {
    const secret = await this.client.find(SECRETS, place);
    if (secret?.metadata.labels?.[LABEL.component] === purpose) await this.delete(place);
  }

  async delete(place: { readonly namespace: string; readonly name: string }): Promise<void> {
    try {
      await this.client.delete(SECRETS, place);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function ownerReference(owner: KubeObject) {
  const { name, uid = '' } = owner.metadata;
  return { apiVersion: owner.apiVersion ?? '', kind: owner.kind ?? '', name, uid };
}
