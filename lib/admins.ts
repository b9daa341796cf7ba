import { Duration, Stack } from 'aws-cdk-lib';
import {
  AccountRecovery,
  ClientAttributes,
  type IUserPool,
  Mfa,
  OAuthScope,
  ResourceServerScope,
  UserPool,
  type UserPoolClient,
  type UserPoolClientOptions,
  type UserPoolDomain,
} from 'aws-cdk-lib/aws-cognito';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { isProtected, removalPolicyOf } from './retention.ts';
import type { Settings } from './settings.ts';

/** Members of this group are admins. */
const adminGroup = 'admins';

/** An existing user pool to use. Members of its group `admins` are admins. */
export interface GivenPool {
  /** used instead of a new pool */
  userPool?: IUserPool;
  /** domain of `userPool`; created if absent and needed. A pool can have only one */
  userPoolDomain?: UserPoolDomain;
}

/**
 * Who may change the registry: people in the group `admins` and machines with the scope `intent-gate/admin`. The group `admins:<namespace>` and
 * the scope `intent-gate/admin:<namespace>` are limited to one namespace. Namespace groups are created by hand: a group created by the stack would
 * outlive its entry in the settings, and creating it again would fail.
 */
export class Admins extends Construct {
  readonly pool: IUserPool;
  /** public client for people: password or SRP */
  readonly people: UserPoolClient;
  /** of the clients whose access tokens are accepted from admins */
  readonly clientIds: string[];
  readonly scope: string;
  private readonly baseUrl: string;
  private readonly domain: () => UserPoolDomain;

  /** @param slug - unique in the region */
  constructor(scope: Construct, id: string, settings: Settings, slug: string, { userPool, userPoolDomain }: GivenPool) {
    super(scope, id);
    // Identifiers of resource servers must be unique in a pool.
    const server = userPool ? `intent-gate-${slug}` : 'intent-gate';
    this.scope = `${server}/admin`;
    const { adopt, machineClient, machineNamespaces, publicBaseUrl = 'http://localhost' } = settings;
    this.baseUrl = publicBaseUrl;
    const poolId = userPool?.userPoolId ?? adopt?.userPoolId;
    // A given pool is imported so that the gate's clients belong to the gate instead of the pool's construct.
    this.pool = poolId ? UserPool.fromUserPoolId(this, 'Pool', poolId) : this.createPool(settings);
    this.people = this.addClient('People', {
      authFlows: { userPassword: true, userSrp: true },
      disableOAuth: true,
      preventUserExistenceErrors: true,
      refreshTokenValidity: Duration.days(1),
    });
    const domainPrefix = `intent-gate-${slug}-${Stack.of(this).account}`;
    let domain = userPoolDomain;
    this.domain = () => (domain ??= this.pool.addDomain('Domain', { cognitoDomain: { domainPrefix } }));
    this.clientIds = [this.people.userPoolClientId];
    if (!machineClient) return;
    this.domain();
    this.clientIds.push(...this.addMachines(machineNamespaces, server).map(({ userPoolClientId }) => userPoolClientId));
  }

  /** Adds an app client whose users cannot write attributes that grant rights. */
  private addClient(id: string, options: UserPoolClientOptions): UserPoolClient {
    const writeAttributes = new ClientAttributes().withStandardAttributes({ fullname: true });
    return this.pool.addClient(id, { accessTokenValidity: Duration.hours(1), writeAttributes, ...options });
  }

  /**
   * Adds a public client with which people sign in at the pool's domain (authorization code).
   * @param path - of the gate, to which they return
   */
  addCodeClient(id: string, path: string, lifetimes: UserPoolClientOptions): { domain: string; clientId: string } {
    const client = this.addClient(id, {
      oAuth: { flows: { authorizationCodeGrant: true }, scopes: [OAuthScope.OPENID], callbackUrls: [this.baseUrl + path] },
      preventUserExistenceErrors: true,
      ...lifetimes,
    });
    return { domain: this.domain().baseUrl(), clientId: client.userPoolClientId };
  }

  /** With `retainData`, the pool, the group and its members outlive the stack. */
  private createPool(settings: Settings): UserPool {
    const removalPolicy = removalPolicyOf(settings);
    const pool = new UserPool(this, 'Pool', {
      selfSignUpEnabled: false,
      signInAliases: { username: true, email: true },
      signInCaseSensitive: false,
      accountRecovery: AccountRecovery.EMAIL_ONLY,
      passwordPolicy: {
        minLength: 12,
        requireLowercase: true,
        requireUppercase: true,
        requireDigits: true,
        requireSymbols: true,
        tempPasswordValidity: Duration.days(3),
      },
      mfa: settings.requireAdminMfa ? Mfa.REQUIRED : Mfa.OPTIONAL,
      mfaSecondFactor: { otp: true, sms: false },
      deletionProtection: isProtected(settings),
      removalPolicy,
    });
    acknowledge(pool, {
      'AwsSolutions-COG2':
        'Optional (setting requireAdminMfa), because scripts that sign in with only a password cannot answer a challenge.',
      'AwsSolutions-COG8':
        'The pool has a few admins, each invited by another admin; the Plus plan is priced for customers who sign up themselves.',
    });
    pool
      .addGroup('AdminGroup', { groupName: adminGroup, description: 'May register, change and delete services and intents' })
      .applyRemovalPolicy(removalPolicy);
    return pool;
  }

  /** Adds confidential clients for machines, one for the whole registry and one per namespace, which exchange client credentials at the pool's domain. */
  private addMachines(namespaces: readonly string[], identifier: string): UserPoolClient[] {
    const everything = { scopeName: 'admin', scopeDescription: 'Register, change and delete services and intents', id: 'Machines' };
    const owners = [
      everything,
      ...namespaces.map((namespace) => ({
        scopeName: `admin:${namespace}`,
        scopeDescription: `The same in the namespace ${namespace}`,
        id: `Machines-${namespace}`,
      })),
    ].map(({ id, ...scope }) => ({ id, scope: new ResourceServerScope(scope) }));
    const server = this.pool.addResourceServer('ResourceServer', { identifier, scopes: owners.map(({ scope }) => scope) });
    return owners.map(({ id, scope }) =>
      this.addClient(id, {
        generateSecret: true,
        // if none is named, Cognito also allows sign-ins of people
        authFlows: { userSrp: false },
        oAuth: { flows: { clientCredentials: true }, scopes: [OAuthScope.resourceServer(server, scope)] },
      }),
    );
  }
}
