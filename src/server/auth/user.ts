// The user of a request, for authorization. Upstream: k8s.io/apiserver/pkg/authentication/user.

export interface UserInfo {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export const anonymousUser: UserInfo = {
  name: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

const authenticated = 'system:authenticated';

/** Adds the group of authenticated users. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.name === anonymousUser.name) return user;
  if (user.groups.includes(authenticated) || user.groups.includes('system:unauthenticated')) return user;
  return { ...user, groups: [...user.groups, authenticated] };
}
