import type { Settings } from '../../lib/settings.ts';

/** What the doctor knows about the machine and the account. */
export interface Findings {
  nodeVersion: string;
  /** version of the installed command line; undefined if there is none */
  cdkVersion: string | undefined;
  /** that package.json asks for */
  wantedCdkVersion: string;
  /** or what is wrong with them or with the policy */
  settings: Pick<Settings, 'reservedConcurrency' | 'manageApiLogRole'> | string;
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
    };

export interface Diagnosis {
  subject: string;
  isWell: boolean;
  detail: string;
  /** what to do, as a command if there is one */
  remedy?: string;
}

const well = (subject: string, detail: string): Diagnosis => ({ subject, isWell: true, detail });
const ill = (subject: string, detail: string, remedy: string): Diagnosis => ({ subject, isWell: false, detail, remedy });

/** Everything that a deployment needs, in the order in which to put it right. */
export const diagnose = (findings: Findings): Diagnosis[] => [
  diagnoseNode(findings),
  diagnoseCommandLine(findings),
  typeof findings.settings === 'string'
    ? ill('settings and policy', findings.settings, 'correct them in cdk.json, or on the command line with -c name=value')
    : well('settings and policy', 'valid'),
  findings.region === undefined ? ill('region', 'none is chosen', 'export AWS_REGION=<region>') : well('region', findings.region),
  diagnoseCredentials(findings),
  diagnoseBootstrap(findings),
  ...diagnoseConcurrency(findings),
  ...diagnoseApiLogRole(findings),
];

function diagnoseNode({ nodeVersion }: Findings): Diagnosis {
  if (Number(nodeVersion.split('.')[0]) >= 24) return well('Node', nodeVersion);
  return ill('Node', `${nodeVersion} is too old; 24 is needed`, 'npm ci');
}

function diagnoseCommandLine({ cdkVersion, wantedCdkVersion }: Findings): Diagnosis {
  if (cdkVersion === wantedCdkVersion) return well('CDK command line', cdkVersion);
  return ill('CDK command line', cdkVersion ? `${cdkVersion} in place of ${wantedCdkVersion}` : 'is not installed', 'npm ci');
}

function diagnoseCredentials({ account: { state } }: Findings): Diagnosis {
  switch (state) {
    case 'known':
      return well('credentials', 'accepted');
    case 'no credentials':
      return ill('credentials', 'none are found', 'aws sso login    (or export AWS_PROFILE=<profile>)');
    case 'refused':
      return ill('credentials', 'AWS refuses them; they may have expired', 'aws sso login    (or export AWS_PROFILE=<profile>)');
    case 'unreachable':
      return ill('credentials', 'AWS cannot be reached', 'check the network and HTTPS_PROXY, then run the doctor again');
  }
}

function diagnoseBootstrap({ account, region = '<region>' }: Findings): Diagnosis {
  const remedy = `npx cdk bootstrap aws://<account>/${region}`;
  if (account.state !== 'known') return ill('bootstrap', 'cannot be told without credentials', 'put the credentials right first');
  if (account.isBootstrapped === 'unknown') return ill('bootstrap', 'cannot be told: these credentials may not list buckets', remedy);
  return account.isBootstrapped ? well('bootstrap', 'done') : ill('bootstrap', 'is missing', remedy);
}

/** What Lambda keeps for the functions that reserve nothing; a reservation that would leave less is refused. */
const minUnreserved = 100;

function diagnoseConcurrency({ account, settings }: Findings): Diagnosis[] {
  if (account.state !== 'known' || typeof settings === 'string') return [];
  const reserved = Object.values(settings.reservedConcurrency).reduce((sum, runs) => sum + runs, 0);
  const { unreservedConcurrency: free } = account;
  if (reserved === 0) return [well('concurrency', 'nothing is reserved')];
  if (free === 'unknown') return [ill('concurrency', 'cannot be told: these credentials may not ask', 'aws lambda get-account-settings')];
  if (free - reserved >= minUnreserved) return [well('concurrency', `${reserved} of ${free} runs at once are reserved`)];
  return [
    ill(
      'concurrency',
      `${reserved} runs at once are to be reserved, and ${minUnreserved} have to be left, of ${free} that are free`,
      'ask Service Quotas for more (Lambda, concurrent executions), or lower reservedConcurrency for the stage in cdk.json. A stack that is deployed already counts itself here',
    ),
  ];
}

function diagnoseApiLogRole({ account, settings }: Findings): Diagnosis[] {
  if (account.state !== 'known' || typeof settings === 'string') return [];
  if (account.hasApiLogRole === true) return [well('log role of API Gateway', 'the account has one')];
  if (settings.manageApiLogRole) return [well('log role of API Gateway', 'this stack makes it')];
  if (account.hasApiLogRole === 'unknown') {
    return [ill('log role of API Gateway', 'cannot be told: these credentials may not ask', 'aws apigateway get-account')];
  }
  return [
    ill(
      'log role of API Gateway',
      'the account has none in this region, and stages that write logs are refused',
      'set "manageApiLogRole": true for this stage in cdk.json',
    ),
  ];
}
