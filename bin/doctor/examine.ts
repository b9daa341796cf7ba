import { type AccountProblem, findConcurrencyProblem, findLogRoleProblem } from '../../functions/core/deployment/account-limits.ts';
import { type Settings, totalReserved } from '../../lib/settings.ts';
import { throughAwsProxy } from '../aws-agents.ts';

export interface Findings {
  nodeVersion: string;
  /** of the installed CDK command line; undefined if not installed */
  cdkVersion: string | undefined;
  /** required by package.json */
  wantedCdkVersion: string;
  /** the settings, or mistakes in them or the policy */
  settings: Pick<Settings, 'reservedConcurrency' | 'manageApiLogRole' | 'adopt'> | string;
  region: string | undefined;
  account: AccountFindings;
}

/** `unreachable`: AWS did not answer; `unknown`: these credentials lack the permission. */
export type AccountFindings =
  | { state: 'no credentials' | 'refused' | 'unreachable' }
  | {
      state: 'known';
      stack: 'present' | 'absent' | 'unknown';
      isBootstrapped: boolean | 'unknown';
      unreservedConcurrency: number | 'unknown';
      hasApiLogRole: boolean | 'unknown';
      /** problems of resources that earlier stacks left, adopted (setting `adopt`) or in the way */
      adopted?: Problem[] | 'unknown';
    };

export interface Problem extends AccountProblem {
  /** whether it can be fixed after a deployment */
  canWait?: boolean;
}

interface Diagnosis {
  subject: string;
  isWell: boolean;
  detail: string;
  /** the command that fixes it, if there is one */
  remedy?: string;
  /** whether a deployment may succeed anyway */
  canWait?: boolean;
}

type Verdict = Omit<Diagnosis, 'subject'>;

const passed = (detail: string): Verdict => ({ isWell: true, detail });
const failed = (detail: string, remedy: string): Verdict => ({ isWell: false, detail, remedy });

/** Does not stop a deployment, because its own role may have the permission that these credentials lack. */
const unknown = (what: string, remedy: string): Verdict => ({
  ...failed(`unknown: these credentials are not allowed to ${what}`, remedy),
  canWait: true,
});

const signIn = 'aws sso login    (or export AWS_PROFILE=<profile>)';

/** Requirements of a deployment, in the order in which to fix them. Inapplicable ones return undefined. */
const examinations: Record<string, (findings: Findings) => Verdict | Verdict[] | undefined> = {
  Node: ({ nodeVersion }) =>
    Number(nodeVersion.split('.')[0]) >= 24 ? passed(nodeVersion) : failed(`${nodeVersion} is too old; 24 or newer is required`, 'npm ci'),

  'CDK command line': ({ cdkVersion, wantedCdkVersion }) =>
    cdkVersion === wantedCdkVersion
      ? passed(cdkVersion)
      : failed(cdkVersion ? `${cdkVersion} is installed, but package.json requires ${wantedCdkVersion}` : 'is not installed', 'npm ci'),

  'settings and policy': ({ settings }) =>
    typeof settings === 'string'
      ? failed(settings, 'correct them in cdk.json, or on the command line with -c name=value')
      : passed('valid'),

  region: ({ region }) => (region === undefined ? failed('not set', 'export AWS_REGION=<region>') : passed(region)),

  credentials: ({ account }) =>
    ({
      known: passed('accepted'),
      'no credentials': failed('not found', signIn),
      refused: failed('AWS rejects them; they may have expired', signIn),
      unreachable: failed(`AWS cannot be reached${throughAwsProxy()}`, 'check the network and HTTPS_PROXY, then run the doctor again'),
    })[account.state],

  bootstrap({ account, region = '<region>' }) {
    const remedy = `npx cdk bootstrap aws://<account>/${region}`;
    if (account.state !== 'known') return failed('unknown until the credentials are valid', 'fix the credentials first');
    if (account.isBootstrapped === 'unknown') return unknown('list buckets', remedy);
    return account.isBootstrapped ? passed('done') : failed('is missing', remedy);
  },

  concurrency({ account, settings }) {
    if (account.state !== 'known' || typeof settings === 'string') return undefined;
    const reserved = totalReserved(settings.reservedConcurrency);
    const { unreservedConcurrency: free, stack } = account;
    if (reserved === 0) return passed('no concurrency is reserved (reservedConcurrency)');
    if (free === 'unknown') return unknown('read Lambda quotas', 'aws lambda get-account-settings');
    const problem = findConcurrencyProblem(reserved, free);
    // The free concurrency excludes what a deployed stack has reserved.
    return problem
      ? { ...failed(problem.detail, problem.remedy), canWait: stack === 'present' }
      : passed(`${reserved} of ${free} concurrent executions are reserved`);
  },

  'log role of API Gateway'({ account, settings }) {
    if (account.state !== 'known' || typeof settings === 'string') return undefined;
    if (account.hasApiLogRole === 'unknown' && !settings.manageApiLogRole)
      return unknown('read the settings of API Gateway', 'aws apigateway get-account');
    const problem = findLogRoleProblem(settings.manageApiLogRole, account.hasApiLogRole === true);
    if (problem) return failed(problem.detail, problem.remedy);
    return passed(account.hasApiLogRole === true ? 'the account has one' : 'this stack creates it');
  },

  'adopted resources'({ account, settings }) {
    if (account.state !== 'known' || typeof settings === 'string') return undefined;
    const { adopted = 'unknown' } = account;
    if (!settings.adopt && (adopted === 'unknown' || adopted.length === 0)) return undefined;
    if (adopted === 'unknown')
      return unknown('read them', 'use a role that can read tables, keys and the user pool, then run the doctor again');
    if (adopted.length === 0) return passed('complete');
    return adopted.map((problem) => ({ isWell: false, ...problem }));
  },
};

export const diagnose = (findings: Findings): Diagnosis[] =>
  Object.entries(examinations).flatMap(([subject, examine]) => {
    return [examine(findings) ?? []].flat().map((verdict) => ({ subject, ...verdict }));
  });

export const isReady = (diagnoses: readonly Diagnosis[]): boolean => diagnoses.every(({ isWell, canWait }) => isWell || canWait);

export function conclude(diagnoses: readonly Diagnosis[], stage: string): string {
  if (!isReady(diagnoses)) return 'Not ready to deploy. Resolve the lines marked FIX.';
  const isComplete = diagnoses.every(({ isWell }) => isWell);
  return `Ready${isComplete ? '' : ' (lines marked "note" can wait)'}: npm run deploy -- ${stage}`;
}

export const describe = ({ subject, isWell, canWait, detail, remedy }: Diagnosis): string =>
  `${isWell ? 'ok  ' : canWait ? 'note' : 'FIX '}  ${subject}: ${detail}${remedy ? `\n      -> ${remedy}` : ''}`;
