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
  /** confidential clients for machines (client credentials): one for the whole registry (`machineClient`) and one per namespace in `machineNamespaces` */
  readonly machines: UserPoolClient[] = [];
  /** public client with which the gate signs people in (authorization code); with the setting `signIn` */
  readonly signIn: { domain: string; clientId: string } | undefined;
  /** public client of the console (authorization code); with the setting `adminSignIn` */
  readonly console: { domain: string; clientId: string } | undefined;
  readonly scope: string;

  /** @param slug - unique in the region */
  constructor(scope: Construct, id: string, settings: Settings, slug: string, { userPool, userPoolDomain }: GivenPool) {
    super(scope, id);
    // Identifiers of resource servers must be unique in a pool.
    const server = userPool ? `intent-gate-${slug}` : 'intent-gate';
    this.scope = `${server}/admin`;
    const { adopt, machineClient, machineNamespaces, signIn, adminSignIn } = settings;
    const poolId = userPool?.userPoolId ?? adopt?.userPoolId;
    // A given pool is imported so that the gate's clients belong to the gate instead of the pool's construct.
    this.pool = poolId ? UserPool.fromUserPoolId(this, 'Pool', poolId) : this.createPool(settings);
    this.people = this.addClient('People', {
      authFlows: { userPassword: true, userSrp: true },
      disableOAuth: true,
      preventUserExistenceErrors: true,
      refreshTokenValidity: Duration.days(1),
    });
    if (machineClient) this.machines = this.addMachines(machineNamespaces, server);
    if (machineClient || signIn || adminSignIn) {
      const domainPrefix = `intent-gate-${slug}-${Stack.of(this).account}`;
      const domain = userPoolDomain ?? this.pool.addDomain('Domain', { cognitoDomain: { domainPrefix } });
      if (adminSignIn) this.console = { domain: domain.baseUrl(), clientId: this.addConsole(settings).userPoolClientId };
      if (signIn) this.signIn = { domain: domain.baseUrl(), clientId: this.addSignIn(settings).userPoolClientId };
    }
  }

  /** Adds an app client whose users cannot write attributes that grant rights. */
  private addClient(id: string, options: UserPoolClientOptions): UserPoolClient {
    const writeAttributes = new ClientAttributes().withStandardAttributes({ fullname: true });
    return this.pool.addClient(id, { accessTokenValidity: Duration.hours(1), writeAttributes, ...options });
  }

  private addCodeClient(id: string, callbackUrl: string, lifetimes: UserPoolClientOptions): UserPoolClient {
    return this.addClient(id, {
      oAuth: { flows: { authorizationCodeGrant: true }, scopes: [OAuthScope.OPENID], callbackUrls: [callbackUrl] },
      preventUserExistenceErrors: true,
      ...lifetimes,
    });
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

  /** Adds the sign-in client. Its tokens never leave the gate and are not admin tokens. */
  private addSignIn({ publicBaseUrl = 'http://localhost' }: Settings): UserPoolClient {
    return this.addCodeClient('SignIn', `${publicBaseUrl}/oauth/signed-in`, {
      accessTokenValidity: Duration.minutes(5),
      idTokenValidity: Duration.minutes(5),
      refreshTokenValidity: Duration.hours(1),
    });
  }

  /** Adds the console's client. Its tokens are admin tokens, which the console keeps in memory. */
  private addConsole({ publicBaseUrl = 'http://localhost' }: Settings): UserPoolClient {
    return this.addCodeClient('Console', `${publicBaseUrl}/console`, { refreshTokenValidity: Duration.hours(8) });
  }

  /** Adds the machine clients, which exchange client credentials at the pool's domain. */
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
