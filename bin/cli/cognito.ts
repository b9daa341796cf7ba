import { CognitoIdentityProvider, type InitiateAuthCommandOutput } from '@aws-sdk/client-cognito-identity-provider';
import { CliFailure } from './failure.ts';

export interface Identity {
  region: string;
  client_id: string;
  /** instead of Cognito's own address in the region */
  endpoint?: string;
  username: string;
}

export interface IssuedTokens {
  access_token: string;
  refresh_token: string;
  /** milliseconds since the epoch */
  expires_at: number;
}

/** What Cognito may ask besides the password. */
export interface Asker {
  newPassword(): Promise<string>;
  code(): Promise<string>;
  /**
   * Enrols a second factor: gives a program for one-time passwords its secret, and returns the first code that the program makes of it.
   * @param uri - the secret as an `otpauth:` address
   */
  enrol(uri: string): Promise<string>;
}

/** The number of questions after which Cognito gives up anyway. */
const maxQuestions = 5;

const open = ({ region, endpoint }: Identity) =>
  new CognitoIdentityProvider({
    region,
    ...(endpoint !== undefined && { endpoint }),
    // these calls are not signed; without this the SDK looks for credentials of the machine
    credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
    maxAttempts: 3,
  });

/**
 * Signs in by password (USER_PASSWORD_AUTH). A temporary password has to be replaced by a permanent one.
 * @throws CliFailure `credentials` if Cognito refuses
 */
export const signIn = (identity: Identity, password: string, asker: Asker): Promise<IssuedTokens> =>
  explain(identity, async () => {
    const { client_id: ClientId, username } = identity;
    const client = open(identity);
    const AuthParameters = { USERNAME: username, PASSWORD: password };
    let answer: InitiateAuthCommandOutput = await client.initiateAuth({ AuthFlow: 'USER_PASSWORD_AUTH', ClientId, AuthParameters });
    for (let count = 0; answer.ChallengeName !== undefined && count < maxQuestions; count++) {
      const { ChallengeName, ChallengeParameters } = answer;
      const Session = ChallengeName === 'MFA_SETUP' ? await enrolSecondFactor(client, username, answer.Session, asker) : answer.Session;
      const USERNAME = ChallengeParameters?.USER_ID_FOR_SRP ?? username;
      const ChallengeResponses = { USERNAME, ...(await answerChallenge(ChallengeName, asker)) };
      answer = await client.respondToAuthChallenge({ ClientId, ChallengeName, Session, ChallengeResponses });
    }
    return readTokens(answer);
  });

/**
 * Enrols a one-time password (RFC 6238) as the second factor of a user who has none yet.
 * @returns the session with which the sign-in goes on
 */
async function enrolSecondFactor(client: CognitoIdentityProvider, username: string, given: string | undefined, { enrol }: Asker) {
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

async function answerChallenge(challenge: string, asker: Asker): Promise<Record<string, string>> {
  switch (challenge) {
    case 'NEW_PASSWORD_REQUIRED':
      return { NEW_PASSWORD: await asker.newPassword() };
    case 'SOFTWARE_TOKEN_MFA':
    case 'SMS_MFA':
      return { [`${challenge}_CODE`]: await asker.code() };
    case 'MFA_SETUP':
      return {};
    default:
      throw new CliFailure(
        'credentials',
        `The user pool asks for ${challenge}, which this command line cannot answer. Use INTENT_GATE_TOKEN.`,
      );
  }
}

function readTokens({ AuthenticationResult: result }: InitiateAuthCommandOutput, refreshToken?: string): IssuedTokens {
  const { AccessToken, ExpiresIn = 3600, RefreshToken = refreshToken } = result ?? {};
  if (AccessToken === undefined || RefreshToken === undefined)
    throw new CliFailure('credentials', 'The user pool gave no tokens. Try again.');
  return { access_token: AccessToken, refresh_token: RefreshToken, expires_at: Date.now() + ExpiresIn * 1000 };
}

const refused = 'The user pool refuses the name, the password or the renewal. Sign in again with: intent-gate login';
const wrongCode = 'The user pool refuses the code. Check that the clock of the device is right, and sign in again with: intent-gate login';

const complaints: Record<string, string> = {
  NotAuthorizedException: refused,
  UserNotFoundException: refused,
  PasswordResetRequiredException: 'The password has to be reset first. Ask an admin of the user pool.',
  CodeMismatchException: wrongCode,
  EnableSoftwareTokenMFAException: wrongCode,
  ResourceNotFoundException:
    'The user pool has no such client. Check --client-id and --region (outputs AdminClientId and UserPoolId of the deployment).',
  InvalidPasswordException:
    'The user pool refuses the password: it is wrong, or as a new one it has to have at least 12 characters, with capitals, small letters, digits and symbols.',
};

async function explain<T>({ endpoint, region }: Identity, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    const known = error instanceof Error ? complaints[error.name] : undefined;
    if (known !== undefined) throw new CliFailure('credentials', known, { cause: error });
    throw new CliFailure('unreachable', `The user pool at ${endpoint ?? `Cognito in ${region}`} does not answer as expected.`, {
      cause: error,
    });
  }
}
