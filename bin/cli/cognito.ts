import { CognitoIdentityProvider, type InitiateAuthCommandOutput } from '@aws-sdk/client-cognito-identity-provider';
import { throughProxy } from '../../client/proxy.ts';
import { CliFailure } from '../../registry/failure.ts';
import { awsAgents } from '../aws-agents.ts';

export interface Identity {
  region: string;
  client_id: string;
  /** default: Cognito's address in the region */
  endpoint?: string;
  username: string;
}

export interface IssuedTokens {
  access_token: string;
  refresh_token: string;
  expires_at: number;
}

/** Asks the user for answers to Cognito's challenges. */
export interface Prompts {
  newPassword(): Promise<string>;
  code(): Promise<string>;
  /** Shows a secret as an `otpauth:` URI, and returns the first one-time password. */
  enrol(uri: string): Promise<string>;
}

const maxQuestions = 5;

const open = ({ region, endpoint }: Identity) =>
  new CognitoIdentityProvider({
    region,
    ...(endpoint !== undefined && { endpoint }),
    // keeps the SDK from looking for AWS credentials, which these unsigned calls do not need
    credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
    maxAttempts: 3,
    requestHandler: awsAgents,
  });

/** @throws CliFailure `credentials` if Cognito refuses */
export const signIn = (identity: Identity, password: string, prompts: Prompts): Promise<IssuedTokens> =>
  explain(identity, async () => {
    const { client_id: ClientId, username } = identity;
    const client = open(identity);
    const AuthParameters = { USERNAME: username, PASSWORD: password };
    let answer: InitiateAuthCommandOutput = await client.initiateAuth({ AuthFlow: 'USER_PASSWORD_AUTH', ClientId, AuthParameters });
    for (let count = 0; answer.ChallengeName !== undefined && count < maxQuestions; count++) {
      const { ChallengeName, ChallengeParameters } = answer;
      const Session = ChallengeName === 'MFA_SETUP' ? await enrolSecondFactor(client, username, answer.Session, prompts) : answer.Session;
      const USERNAME = ChallengeParameters?.USER_ID_FOR_SRP ?? username;
      const ChallengeResponses = { USERNAME, ...(await answerChallenge(ChallengeName, prompts)) };
      answer = await client.respondToAuthChallenge({ ClientId, ChallengeName, Session, ChallengeResponses });
    }
    return readTokens(answer);
  });

/** @returns the session with which to continue */
async function enrolSecondFactor(client: CognitoIdentityProvider, username: string, given: string | undefined, { enrol }: Prompts) {
  const { SecretCode = '', Session } = await client.associateSoftwareToken({ Session: given });
  const query = new URLSearchParams({ secret: SecretCode, issuer: 'Intent Gate' });
  const UserCode = await enrol(`otpauth://totp/${encodeURIComponent(`Intent Gate:${username}`)}?${query}`);
  return (await client.verifySoftwareToken({ Session, UserCode, FriendlyDeviceName: 'intent-gate login' })).Session;
}

/** @throws CliFailure `credentials` if the refresh token has expired */
export const renewTokens = (session: Identity & { refresh_token: string }): Promise<IssuedTokens> =>
  explain(session, async () => {
    const AuthParameters = { REFRESH_TOKEN: session.refresh_token };
    const request = { AuthFlow: 'REFRESH_TOKEN_AUTH', ClientId: session.client_id, AuthParameters } as const;
    return readTokens(await open(session).initiateAuth(request), session.refresh_token);
  });

async function answerChallenge(challenge: string, prompts: Prompts): Promise<Record<string, string>> {
  switch (challenge) {
    case 'NEW_PASSWORD_REQUIRED':
      return { NEW_PASSWORD: await prompts.newPassword() };
    case 'SOFTWARE_TOKEN_MFA':
    case 'SMS_MFA':
      return { [`${challenge}_CODE`]: await prompts.code() };
    case 'MFA_SETUP':
      return {};
    default:
      throw new CliFailure(
        'credentials',
        `The user pool requires ${challenge}, which this command line does not support. Use INTENT_GATE_TOKEN.`,
      );
  }
}

function readTokens({ AuthenticationResult: result }: InitiateAuthCommandOutput, refreshToken?: string): IssuedTokens {
  const { AccessToken, ExpiresIn = 3600, RefreshToken = refreshToken } = result ?? {};
  if (AccessToken === undefined || RefreshToken === undefined)
    throw new CliFailure('credentials', 'The user pool returned no tokens. Try again.');
  return { access_token: AccessToken, refresh_token: RefreshToken, expires_at: Date.now() + ExpiresIn * 1000 };
}

const refused = 'The user pool rejected the name, password or refresh token. Sign in again with: npx intent-gate login';
const wrongCode = 'The user pool rejected the code. Check the clock of your device, then sign in again with: npx intent-gate login';

const complaints: Record<string, string> = {
  NotAuthorizedException: refused,
  UserNotFoundException: refused,
  PasswordResetRequiredException: 'The password must be reset. Ask an admin of the user pool.',
  CodeMismatchException: wrongCode,
  EnableSoftwareTokenMFAException: wrongCode,
  ResourceNotFoundException:
    'The user pool has no such client. Check --client-id and --region (outputs AdminClientId and UserPoolId of the deployment).',
  InvalidPasswordException:
    'The user pool rejected the password: it is wrong, or, if new, it needs at least 12 characters with upper-case and lower-case letters, digits and symbols.',
};

async function explain<T>({ endpoint, region }: Identity, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    const known = error instanceof Error ? complaints[error.name] : undefined;
    if (known !== undefined) throw new CliFailure('credentials', known, { cause: error });
    const through = throughProxy(endpoint ?? 'https://amazonaws.com');
    const message = `The user pool at ${endpoint ?? `Cognito in ${region}`} did not respond as expected${through}.`;
    throw new CliFailure('unreachable', message, { cause: error });
  }
}
