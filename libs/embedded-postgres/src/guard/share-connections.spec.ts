import { type GuestRole, type GuestSession, shareConnections, type Shares } from './share-connections.js';

/** Roles by name, `workspace/role`: the connections of each, and its limit if that is lowered. */
type World = Readonly<Record<string, number | readonly [held: number, limit: number]>>;

const MOST = 59;

function share(world: World, free: number, given: { reserve?: number; mayRestore?: boolean } = {}): Shares {
  const roles: GuestRole[] = [];
  const sessions: GuestSession[] = [];
  for (const [id, one] of Object.entries(world)) {
    const [held, limit] = typeof one === 'number' ? [one, MOST] : one;
    roles.push({ id, limit, workspace: id.split('/')[0] ?? '', connections: MOST });
    for (let index = 0; index < held; index++) sessions.push({ pid: sessions.length, role: id });
  }
  return shareConnections({ sessions, roles, free, reserve: 30, mayRestore: true, ...given });
}

const endedOf = ({ ended }: Shares): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(ended, ({ role }) => role)].map(([role, all]) => [role, all.length]));
const limitsOf = ({ limits }: Shares): Record<string, number> => Object.fromEntries(limits);

describe('shareConnections', () => {
  it('ends nothing while the reserve is free', () => {
    const shares = share({ 'a/1': 59, 'a/2': 50, 'b/1': 2 }, 30);
    expect([endedOf(shares), limitsOf(shares)]).toEqual([{}, {}]);
  });

  it('ends nothing while one workspace alone has roles', () => {
    expect(share({ 'a/1': 59, 'a/2': 59, 'a/3': 59 }, 0).ended).toEqual([]);
  });

  it('ends sessions of the largest roles of the workspace that holds most, and limits it to the rest', () => {
    const shares = share({ 'a/1': 59, 'a/2': 49, 'a/3': 9, 'a/4': 0, 'b/1': 40 }, 0);
    expect(endedOf(shares)).toEqual({ 'a/1': 20, 'a/2': 10 });
    expect(limitsOf(shares)).toEqual({ 'a/1': 39, 'a/2': 39, 'a/3': 9, 'a/4': 0 });
  });

  it('ends those that are idle the longest', () => {
    expect(share({ 'a/1': 59, 'a/2': 20, 'b/1': 5 }, 29).ended.map(({ pid }) => pid)).toEqual([0]);
  });

  it('leaves all workspaces the same when all take what they get', () => {
    const shares = share({ 'a/1': 50, 'b/1': 50, 'b/2': 10, 'c/1': 40 }, 0);
    expect(endedOf(shares)).toEqual({ 'a/1': 10, 'b/1': 20 });
  });

  it('keeps no more for a newcomer than an even part', () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`w${index}/1`, 7]));
    expect(share(many, 0).ended).toHaveLength(6);
  });

  it('gives a limited workspace what is free beyond the reserve, the role with least first', () => {
    const shares = share({ 'a/1': [39, 39], 'a/2': [39, 39], 'a/3': [0, 0], 'b/1': 20 }, 34);
    expect(limitsOf(shares)).toEqual({ 'a/1': 40, 'a/2': 40, 'a/3': 2 });
    expect(shares.ended).toEqual([]);
  });

  it('leaves limits as they are while nothing changes', () => {
    expect(limitsOf(share({ 'a/1': [39, 39], 'a/2': [38, 39], 'b/1': 20 }, 31))).toEqual({});
  });

  it('takes limits back once half of all is free, but not soon after it set them', () => {
    const calm: World = { 'a/1': [20, 39], 'b/1': 9 };
    expect(limitsOf(share(calm, 100))).toEqual({ 'a/1': MOST });
    expect(limitsOf(share(calm, 100, { mayRestore: false }))).toEqual({});
  });

  it('adds no limits of a workspace to more than it held and its part', () => {
    const roles: World = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`a/${index}`, 2]));
    const { ended, limits } = share({ ...roles, 'b/1': 20 }, 10);
    expect(ended).toHaveLength(20);
    expect([...limits.values()].reduce((sum, limit) => sum + limit, 0)).toBe(100);
  });
});
