import type { Settings } from '../../lib/settings.ts';

/** What the doctor knows about the machine and the account. */
export interface Findings {
  nodeVersion: string;
  /** version of the installed command line; undefined if there is none */
  cdkVersion: string | undefined;
  /** that package.json asks for */
  wantedCdkVersion: string;
  /** or what is wrong with them or with the policy */
  settings: Pick<Settings, 'reservedConcurrency' | 'manageApiLogRole' | 'adopt'> | string;
  region: string | undefined;
  account: AccountFindings;
}

/** `unreachable`: AWS could not be asked; `unknown`: it was asked, and refused to answer. */
export type AccountFindings =
  | { state: 'no credentials' | 'refused' | 'unreachable' }
  | {
      state: 'known';
      isBootstrapped: boolean | 'unknown';
      /** Lambda's concurrent executions that no function has reserved */
      unreservedConcurrency: number | 'unknown';
      /** whether the account has a role with which API Gateway writes logs */
      hasApiLogRole: boolean | 'unknown';
      /** what is wrong with what the stack takes over (setting `adopt`) */
      adopted?: Problem[] | 'unknown';
    };

/** Something to put right, and how. */
export interface Problem {
  detail: string;
  remedy: string;
}

export interface Diagnosis {
  subject: string;
  isWell: boolean;
  detail: string;
  /** what to do, as a command if there is one */
  remedy?: string;
}

type Verdict = Omit<Diagnosis, 'subject'>;

const well = (detail: string): Verdict => ({ isWell: true, detail });
const ill = (detail: string, remedy: string): Verdict => ({ isWell: false, detail, remedy });

const noAnswer = 'cannot be told: these credentials may not';
const signIn = 'aws sso login    (or export AWS_PROFILE=<profile>)';

/** What Lambda keeps for the functions that reserve nothing; a reservation that would leave less is refused. */
const minUnreserved = 100;

/** Everything that a deployment needs, in the order in which to put it right. What does not matter yet has no verdict. */
const examinations: Record<string, (findings: Findings) => Verdict | Verdict[] | undefined> = {
  Node: ({ nodeVersion }) =>
    Number(nodeVersion.split('.')[0]) >= 24 ? well(nodeVersion) : ill(`${nodeVersion} is too old; 24 is needed`, 'npm ci'),

  'CDK command line': ({ cdkVersion, wantedCdkVersion }) =>
    cdkVersion === wantedCdkVersion
      ? well(cdkVersion)
      : ill(cdkVersion ? `${cdkVersion} in place of ${wantedCdkVersion}` : 'is not installed', 'npm ci'),

  'settings and policy': ({ settings }) =>
    typeof settings === 'string' ? ill(settings, 'correct them in cdk.json, or on the command line with -c name=value') : well('valid'),

  region: ({ region }) => (region === undefined ? ill('none is chosen', 'export AWS_REGION=<region>') : well(region)),

  credentials: ({ account }) =>
    ({
      known: well('accepted'),
      'no credentials': ill('none are found', signIn),
      refused: ill('AWS refuses them; they may have expired', signIn),
      unreachable: ill('AWS cannot be reached', 'check the network and HTTPS_PROXY, then run the doctor again'),
    })[account.state],

  bootstrap({ account, region = '<region>' }) {
    const remedy = `npx cdk bootstrap aws://<account>/${region}`;
    if (account.state !== 'known') return ill('cannot be told without credentials', 'put the credentials right first');
    if (account.isBootstrapped === 'unknown') return ill(`${noAnswer} list buckets`, remedy);
    return account.isBootstrapped ? well('done') : ill('is missing', remedy);
  },

  concurrency({ account, settings }) {
    if (account.state !== 'known' || typeof settings === 'string') return undefined;
    const reserved = Object.values(settings.reservedConcurrency).reduce((sum, runs) => sum + runs, 0);
    const { unreservedConcurrency: free } = account;
    if (reserved === 0) return well('nothing is reserved');
    if (free === 'unknown') return ill(`${noAnswer} ask`, 'aws lambda get-account-settings');
    if (free - reserved >= minUnreserved) return well(`${reserved} of ${free} runs at once are reserved`);
    return ill(
      `${reserved} runs at once are to be reserved, and ${minUnreserved} have to be left, of ${free} that are free`,
      'ask Service Quotas for more (Lambda, concurrent executions), or lower reservedConcurrency for the stage in cdk.json. A stack that is deployed already counts itself here',
    );
  },

  'log role of API Gateway'({ account, settings }) {
    if (account.state !== 'known' || typeof settings === 'string') return undefined;
    if (account.hasApiLogRole === true) return well('the account has one');
    if (settings.manageApiLogRole) return well('this stack makes it');
    if (account.hasApiLogRole === 'unknown') return ill(`${noAnswer} ask`, 'aws apigateway get-account');
    return ill(
      'the account has none in this region, and stages that write logs are refused',
      'set "manageApiLogRole": true for this stage in cdk.json',
    );
  },

  'what is taken over'({ account, settings }) {
    if (account.state !== 'known' || typeof settings === 'string' || !settings.adopt) return undefined;
    const { adopted = 'unknown' } = account;
    if (adopted === 'unknown')
      return ill(`${noAnswer} ask`, 'take a role that may read tables, keys and the user pool, then run the doctor again');
    if (adopted.length === 0) return well('complete');
    return adopted.map(({ detail, remedy }) => ill(detail, remedy));
  },
};

export const diagnose = (findings: Findings): Diagnosis[] =>
  Object.entries(examinations).flatMap(([subject, examine]) => {
    return [examine(findings) ?? []].flat().map((verdict) => ({ subject, ...verdict }));
  });
