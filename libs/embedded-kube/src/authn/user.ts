/** User that makes a request. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };
export const AUTHENTICATED = 'system:authenticated';
/** User that serves the Services of a machine, as in every cluster. */
export const SERVICE_PROXY = 'system:kube-proxy';
/** Identity of the API server towards a node whose logs it reads. */
export const KUBELET_CLIENT = 'kube-apiserver-kubelet-client';
export const MASTERS = 'system:masters';
