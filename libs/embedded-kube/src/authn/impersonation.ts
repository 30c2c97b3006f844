import type { IncomingHttpHeaders } from 'node:http';
import { badRequest } from '#lib/kube-semantics';
import { ANONYMOUS, AUTHENTICATED, type UserInfo } from './user.js';

/** The user a request wants to act as, and what one must be allowed to impersonate for it. */
export interface Impersonation {
  readonly user: UserInfo;
  readonly needs: readonly ImpersonationNeed[];
}

export interface ImpersonationNeed {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const AUTHENTICATION = 'authentication.k8s.io';
const EXTRA_PREFIX = 'impersonate-extra-';

/** Reads the `Impersonate-…` headers (kubectl's `--as`); undefined without any. */
export function parseImpersonation(headers: IncomingHttpHeaders): Impersonation | undefined {
  const username = text(headers['impersonate-user']);
  const given = texts(headers['impersonate-group']);
  const uid = text(headers['impersonate-uid']);
  const extra = Object.keys(headers)
    .filter((name) => name.startsWith(EXTRA_PREFIX))
    .map((name) => ({ key: decoded(name.slice(EXTRA_PREFIX.length)), values: texts(headers[name]) }));
  if (username === '') {
    if (given.length === 0 && extra.length === 0 && uid === '') return undefined;
    throw badRequest('requested impersonation without a user name');
  }
  const account = ACCOUNT.exec(username);
  const groups = given.length > 0 ? given : account ? accountGroups(account[1] ?? '') : [];
  const standing = username === ANONYMOUS.username ? ANONYMOUS.groups : [AUTHENTICATED];
  return {
    user: {
      username,
      ...(uid ? { uid } : {}),
      groups: [...new Set([...groups, ...standing])],
      extra: Object.fromEntries(extra.map(({ key, values }) => [key, values])),
    },
    needs: [
      account ? need('serviceaccounts', account[2] ?? '', account[1]) : need('users', username),
      ...given.map((group) => need('groups', group)),
      ...(uid ? [{ ...need('uids', uid), group: AUTHENTICATION }] : []),
      // each value by itself: permission for one value does not cover another
      ...extra.flatMap(({ key, values }) =>
        values.map((value) => ({ ...need('userextras', value), group: AUTHENTICATION, subresource: key })),
      ),
    ],
  };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    throw badRequest(`the header ${EXTRA_PREFIX}${name} is not percent-encoded`);
  }
}

function accountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

function need(resource: string, name: string, namespace = ''): ImpersonationNeed {
  return { group: '', resource, subresource: '', namespace, name };
}

function text(header: string | string[] | undefined): string {
  return [header ?? []].flat()[0] ?? '';
}

/** Node joins repeated headers of unknown names by commas. */
function texts(header: string | string[] | undefined): readonly string[] {
  return [header ?? []].flat().flatMap((value) => value.split(',').map((part) => part.trim()));
}
