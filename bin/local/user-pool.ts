import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, randomInt, randomUUID, sign, verify } from 'node:crypto';
import * as z from 'zod';
import { readJson, writeJson } from './files.ts';
import { operation, region, ServiceError } from './json-service.ts';

const accessSeconds = 3_600;
const refreshSeconds = 30 * 24 * 3_600;

const user = z.object({ sub: z.uuid(), password: z.string() });

const poolFile = z.object({
  pool_id: z.string(),
  client_id: z.string(),
  /** PEM */
  key: z.string(),
  users: z.record(z.string(), user),
  /** user names by group */
  groups: z.record(z.string(), z.array(z.string())).default({ admins: ['admin'] }),
});

const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

const newPassword = () => randomBytes(18).toString('base64url');

const newPool = (): z.input<typeof poolFile> => ({
  pool_id: `${region}_${randomText('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 9)}`,
  client_id: randomText('abcdefghijklmnopqrstuvwxyz0123456789', 26),
  key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  users: { admin: { sub: randomUUID(), password: newPassword() }, user: { sub: randomUUID(), password: newPassword() } },
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const refuse = (message: string) => new ServiceError('NotAuthorizedException', message);

export type UserPool = ReturnType<typeof openUserPool>;

/** A user pool in a file, created with its only two users, an admin and an ordinary one. Issues tokens signed like Cognito's. */
export function openUserPool(path: string) {
  const pool = poolFile.parse(readJson(path) ?? newPool());
  const keep = () => writeJson(path, pool);
  keep();
  const privateKey = createPrivateKey(pool.key);
  const publicKey = createPublicKey(privateKey);
  const kid = 'local';
  const issuer = `https://cognito-idp.${region}.amazonaws.com/${pool.pool_id}`;

  const signToken = (claims: object, lifeSeconds: number): string => {
    const iat = Math.floor(Date.now() / 1_000);
    const times = { iss: issuer, iat, auth_time: iat, exp: iat + lifeSeconds, jti: randomUUID() };
    const content = `${encode({ kid, alg: 'RS256' })}.${encode({ ...claims, ...times })}`;
    return `${content}.${sign('sha256', Buffer.from(content), privateKey).toString('base64url')}`;
  };

  const findUser = (name: string) => {
    const found = Object.hasOwn(pool.users, name) ? pool.users[name] : undefined;
    if (!found) throw new ServiceError('UserNotFoundException', 'User does not exist.');
    return found;
  };

  const issue = (username: string, client_id: string, scope = 'aws.cognito.signin.user.admin') => {
    const { sub } = findUser(username);
    const groups = Object.entries(pool.groups).flatMap(([group, members]) => (members.includes(username) ? [group] : []));
    const claims = { sub, username, client_id, ...(groups.length > 0 && { 'cognito:groups': groups }) };
    return {
      access_token: signToken({ ...claims, token_use: 'access', scope }, accessSeconds),
      refresh_token: signToken({ sub, username, client_id, token_use: 'refresh', scope }, refreshSeconds),
      expires_in: accessSeconds,
      token_type: 'Bearer',
    };
  };

  return {
    id: pool.pool_id,
    clientId: pool.client_id,
    issuer,
    keySet: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }] },
    passwordOf: (name: string) => findUser(name).password,
    issue,

    /** @throws ServiceError NotAuthorizedException if the name or the password is wrong */
    checkPassword(name: string, password: string): void {
      const found = Object.hasOwn(pool.users, name) ? pool.users[name] : undefined;
      if (found?.password !== password) throw refuse('Incorrect username or password.');
    },

    /** @throws ServiceError NotAuthorizedException if the token has expired or belongs to another client */
    refresh(token: string, clientId: string) {
      const [content, signature = ''] = token.split(/\.(?=[^.]*$)/);
      const isOurs = verify('sha256', Buffer.from(content ?? ''), publicKey, Buffer.from(signature, 'base64url'));
      const claims = isOurs ? JSON.parse(Buffer.from(content?.split('.')[1] ?? '', 'base64url').toString()) : {};
      const isGood = claims.token_use === 'refresh' && claims.client_id === clientId && claims.exp > Date.now() / 1_000;
      if (!isGood || findUser(claims.username).sub !== claims.sub) throw refuse('Invalid Refresh Token.');
      const { refresh_token: _, ...issued } = issue(claims.username, clientId, claims.scope);
      return issued;
    },

    createGroup(name: string): void {
      if (Object.hasOwn(pool.groups, name)) throw new ServiceError('GroupExistsException', 'A group with the name already exists.');
      pool.groups[name] = [];
      keep();
    },

    setMembership(name: string, group: string, isMember: boolean): void {
      findUser(name);
      const members = Object.hasOwn(pool.groups, group) ? pool.groups[group] : undefined;
      if (!members) throw new ServiceError('ResourceNotFoundException', 'Group not found.');
      pool.groups[group] = [...members.filter((member) => member !== name), ...(isMember ? [name] : [])];
      keep();
    },
  };
}

const name = z.string().regex(/^[\p{L}\p{M}\p{S}\p{N}\p{P}]{1,128}$/u, 'must be 1 to 128 visible characters');
const text = z.string().min(1).max(4_096);

/** The Cognito operations for signing in with a password, and for making groups and their members. */
export function userPoolOperations(pool: UserPool): Record<string, (input: unknown) => object> {
  const inPool = z.object({ UserPoolId: z.literal(pool.id, 'is not the id of this user pool') });
  const byClient = z.object({ ClientId: z.literal(pool.clientId, 'is not the client with which people sign in by password') });
  const ofGroup = inPool.extend({ Username: name, GroupName: name });

  const result = (username: string) => {
    const { access_token, refresh_token, expires_in, token_type } = pool.issue(username, pool.clientId);
    return { AccessToken: access_token, RefreshToken: refresh_token, ExpiresIn: expires_in, TokenType: token_type };
  };

  const changeMembership = (isMember: boolean) =>
    operation(ofGroup, ({ Username, GroupName }) => {
      pool.setMembership(Username, GroupName, isMember);
      return {};
    });

  return {
    InitiateAuth: operation(
      z.discriminatedUnion('AuthFlow', [
        byClient.extend({
          AuthFlow: z.literal('USER_PASSWORD_AUTH'),
          AuthParameters: z.object({ USERNAME: text, PASSWORD: text }),
        }),
        byClient.extend({ AuthFlow: z.literal('REFRESH_TOKEN_AUTH'), AuthParameters: z.object({ REFRESH_TOKEN: text }) }),
      ]),
      ({ AuthFlow, AuthParameters, ClientId }) => {
        if (AuthFlow === 'REFRESH_TOKEN_AUTH') {
          const { access_token, expires_in, token_type } = pool.refresh(AuthParameters.REFRESH_TOKEN, ClientId);
          return { AuthenticationResult: { AccessToken: access_token, ExpiresIn: expires_in, TokenType: token_type } };
        }
        const { USERNAME, PASSWORD } = AuthParameters;
        pool.checkPassword(USERNAME, PASSWORD);
        return { AuthenticationResult: result(USERNAME) };
      },
    ),
    CreateGroup: operation(inPool.extend({ GroupName: name }), ({ GroupName, UserPoolId }) => {
      pool.createGroup(GroupName);
      return { Group: { GroupName, UserPoolId } };
    }),
    AdminAddUserToGroup: changeMembership(true),
    AdminRemoveUserFromGroup: changeMembership(false),
  };
}
