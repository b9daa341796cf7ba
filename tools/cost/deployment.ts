import { variables } from '../../functions/core/environment.ts';

export interface Deployment {
  /** logical ids begin with the function's name without hyphens */
  functions: { id: string; memoryGb: number; storageGb: number }[];
  schedules: { functionId: string; everyMinutes: number }[];
  keys: number;
  alarms: number;
  dashboards: number;
  insightRules: number;
  firewalls: number;
  firewallRules: number;
  buckets: number;
  machineClients: number;
  logRetentionDays: number;
  isTraced: boolean;
  /** DPoP proofs are required, so their ids are written */
  isProofRequired: boolean;
  /** signed policies must have ids, which are written */
  isFreshRequired: boolean;
  /** minimum compute units of OpenSearch Serverless */
  collectionUnits: number;
}

export interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template's properties have no one type
  Properties?: Record<string, any>;
}

/** Minimum compute units: half a unit each for indexing and search, doubled by standby replicas. */
const unitsOf = ({ Properties }: Resource): number => (Properties?.StandbyReplicas === 'DISABLED' ? 1 : 2);

export function readDeployment(resources: Record<string, Resource>): Deployment {
  const entriesOf = (type: string) => Object.entries(resources).filter(([, { Type }]) => Type === type);
  const ofType = (type: string) => entriesOf(type).map(([, resource]) => resource);
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  const lambdas = entriesOf('AWS::Lambda::Function');
  const isSet = (variable: string) => lambdas.some(([, { Properties }]) => Properties?.Environment?.Variables?.[variable] === 'true');
  const clients = ofType('AWS::Cognito::UserPoolClient');
  return {
    functions: lambdas.map(([id, { Properties }]) => ({
      id,
      memoryGb: (Properties?.MemorySize ?? 128) / 1024,
      storageGb: (Properties?.EphemeralStorage?.Size ?? 512) / 1024,
    })),
    schedules: ofType('AWS::Events::Rule').flatMap(({ Properties }) => {
      const [, minutes] = /^rate\((\d+) minutes?\)$/.exec(Properties?.ScheduleExpression ?? '') ?? [];
      const targets: { Arn: { 'Fn::GetAtt': [string, string] } }[] = Properties?.Targets ?? [];
      return minutes ? targets.map(({ Arn }) => ({ functionId: Arn['Fn::GetAtt'][0], everyMinutes: Number(minutes) })) : [];
    }),
    keys: ofType('AWS::KMS::Key').length,
    alarms: ofType('AWS::CloudWatch::Alarm').length,
    dashboards: ofType('AWS::CloudWatch::Dashboard').length,
    insightRules: ofType('AWS::CloudWatch::InsightRule').length,
    firewalls: ofType('AWS::WAFv2::WebACL').length,
    firewallRules: ofType('AWS::WAFv2::WebACL').flatMap(({ Properties }) => Properties?.Rules ?? []).length,
    buckets: ofType('AWS::S3::Bucket').length,
    machineClients: clients.filter(({ Properties }) => Properties?.AllowedOAuthFlows?.includes('client_credentials')).length,
    logRetentionDays: Math.max(...ofType('AWS::Logs::LogGroup').map(({ Properties }) => Properties?.RetentionInDays ?? 0)),
    isTraced: lambdas.some(([, { Properties }]) => Properties?.TracingConfig?.Mode === 'Active'),
    isProofRequired: isSet(variables.requireProofOfPossession),
    isFreshRequired: isSet(variables.requireFreshSignature),
    collectionUnits: sum(ofType('AWS::OpenSearchServerless::Collection').map(unitsOf)),
  };
}
