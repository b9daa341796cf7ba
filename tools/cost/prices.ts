export interface Price {
  dollars: number;
  per: number;
  unit: string;
}

interface PriceList {
  /** title of the AWS page with these prices */
  page: string;
  prices: Record<string, Price>;
}

const price = (dollars: number, per: number, unit: string): Price => ({ dollars, per, unit });

const thousand = 1_000;
const million = 1_000_000;

/** When the prices were read. */
export const asOf = 'June 2025';

/** List prices in us-east-1 without free tiers, with their source. Check them against the pages before relying on them. */
export const priceLists = {
  apiGateway: { page: 'Amazon API Gateway pricing', prices: { request: price(3.5, million, 'requests of a REST API') } },
  lambda: {
    page: 'AWS Lambda pricing',
    prices: {
      request: price(0.2, million, 'requests'),
      duration: price(13.3334, million, 'GB-seconds on Arm'),
      storage: price(0.0309, million, 'GB-seconds of files beyond 512 MB'),
    },
  },
  dynamodb: {
    page: 'Amazon DynamoDB pricing, on-demand capacity',
    prices: {
      write: price(0.625, million, 'write units of 1 KB'),
      read: price(0.125, million, 'read units of 4 KB, strongly consistent'),
      storage: price(0.25, 1, 'GB-month of a table'),
      recovery: price(0.2, 1, 'GB-month of point-in-time recovery'),
    },
  },
  kms: {
    page: 'AWS Key Management Service pricing',
    prices: { key: price(1, 1, 'key and month'), signature: price(0.15, 10 * thousand, 'requests of ECC keys') },
  },
  secrets: {
    page: 'AWS Secrets Manager pricing',
    prices: { secret: price(0.4, 1, 'secret and month'), request: price(0.05, 10 * thousand, 'requests') },
  },
  cloudWatch: {
    page: 'Amazon CloudWatch pricing',
    prices: {
      logs: price(0.5, 1, 'GB of logs ingested'),
      logStorage: price(0.03, 1, 'GB-month of logs stored, compressed'),
      metric: price(0.3, 1, 'metric and month'),
      alarm: price(0.1, 1, 'alarm and month'),
      dashboard: price(3, 1, 'dashboard and month'),
      insightRule: price(0.5, 1, 'Contributor Insights rule and month'),
      insightEvent: price(0.02, million, 'log events that match a rule'),
    },
  },
  xray: { page: 'AWS X-Ray pricing', prices: { trace: price(5, million, 'traces recorded') } },
  s3: {
    page: 'Amazon S3 pricing',
    prices: {
      put: price(0.005, thousand, 'PUT requests'),
      get: price(0.0004, thousand, 'GET requests'),
      storage: price(0.023, 1, 'GB-month'),
    },
  },
  cognito: {
    page: 'Amazon Cognito pricing',
    prices: {
      user: price(0.015, 1, 'user who signs in and month (Essentials)'),
      machineClient: price(6, 1, 'app client for machines and month'),
      machineToken: price(2.25, thousand, 'tokens for machines'),
    },
  },
  waf: {
    page: 'AWS WAF pricing',
    prices: {
      acl: price(5, 1, 'web ACL and month'),
      rule: price(1, 1, 'rule and month'),
      request: price(0.6, million, 'requests'),
    },
  },
  openSearch: {
    page: 'Amazon OpenSearch Service pricing, Serverless',
    prices: { unit: price(0.24, 1, 'OCU-hour') },
  },
  transfer: { page: 'Amazon EC2 pricing, data transfer', prices: { out: price(0.09, 1, 'GB to the internet') } },
} as const satisfies Record<string, PriceList>;

export const cost = ({ dollars, per }: Price, quantity: number): number => (quantity / per) * dollars;
