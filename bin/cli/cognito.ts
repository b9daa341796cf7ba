import {
  AssociateSoftwareTokenCommand,
  CognitoIdentityProviderClient,
  InitiateAuthCommand,
  type InitiateAuthCommandOutput,
  RespondToAuthChallengeCommand,
  VerifySoftwareTokenCommand,
} from '@aws-sdk/client-cognito-identity-provider';
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
  new CognitoIdentityProviderClient({
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
export async function signIn(identity: Identity, password: string, asker: Asker): Promise<IssuedTokens> {
  const client = open(identity);
  return explain(identity, async () => {
    let answer: InitiateAuthCommandOutput = await client.send(
      new InitiateAuthCommand({
        AuthFlow: 'USER_PASSWORD_AUTH',
        ClientId: identity.client_id,
        AuthParameters: { USERNAME: identity.username, PASSWORD: password },
      }),
    );
    for (let count = 0; answer.ChallengeName !== undefined && count < maxQuestions; count++) {
      answer = await client.send(
        new RespondToAuthChallengeCommand({
          ClientId: identity.client_id,
          ChallengeName: answer.ChallengeName,
          Session: answer.ChallengeName === 'MFA_SETUP' ? await enrolSecondFactor(client, identity, answer.Session, asker) : answer.Session,
          ChallengeResponses: {
            USERNAME: answer.ChallengeParameters?.USER_ID_FOR_SRP ?? identity.username,
            ...(await answerChallenge(answer.ChallengeName, asker)),
          },
        }),
      );
    }
    return readTokens(answer);
  });
}

/**
 * Enrols a one-time password (RFC 6238) as the second factor of a user who has none yet.
 * @returns the session with which the sign-in goes on
 */
async function enrolSecondFactor(
  client: CognitoIdentityProviderClient,
  { username }: Identity,
  session: string | undefined,
  asker: Asker,
): Promise<string | undefined> {
  const { SecretCode = '', Session } = await client.send(new AssociateSoftwareTokenCommand({ Session: session }));
  const query = new URLSearchParams({ secret: SecretCode, issuer: 'Intent Gate' });
  const code = await asker.enrol(`otpauth://totp/${encodeURIComponent(`Intent Gate:${username}`)}?${query}`);
  const verified = await client.send(new VerifySoftwareTokenCommand({ Session, UserCode: code, FriendlyDeviceName: 'intent-gate login' }));
  return verified.Session;
}

/** @throws CliFailure `credentials` if the refresh token has expired */
export async function renewTokens(session: Identity & { refresh_token: string }): Promise<IssuedTokens> {
  const client = open(session);
  return explain(session, async () =>
    readTokens(
      await client.send(
        new InitiateAuthCommand({
          AuthFlow: 'REFRESH_TOKEN_AUTH',
          ClientId: session.client_id,
          AuthParameters: { REFRESH_TOKEN: session.refresh_token },
        }),
      ),
      session.refresh_token,
    ),
  );
}

async function answerChallenge(challenge: string, asker: Asker): Promise<Record<string, string>> {
  switch (challenge) {
    case 'NEW_PASSWORD_REQUIRED':
      return { NEW_PASSWORD: await asker.newPassword() };
    case 'SOFTWARE_TOKEN_MFA':
      return { SOFTWARE_TOKEN_MFA_CODE: await asker.code() };
    case 'MFA_SETUP':
      return {};
    case 'SMS_MFA':
      return { SMS_MFA_CODE: await asker.code() };
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

const complaints: Record<string, string> = {
  NotAuthorizedException: 'The user pool refuses the name, the password or the renewal. Sign in again with: intent-gate login',
  UserNotFoundException: 'The user pool refuses the name, the password or the renewal. Sign in again with: intent-gate login',
  PasswordResetRequiredException: 'The password has to be reset first. Ask an admin of the user pool.',
  CodeMismatchException:
    'The user pool refuses the code. Check that the clock of the device is right, and sign in again with: intent-gate login',
  EnableSoftwareTokenMFAException:
    'The user pool refuses the code. Check that the clock of the device is right, and sign in again with: intent-gate login',
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
